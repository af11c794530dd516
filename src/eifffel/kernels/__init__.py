"""The hot loops, compiled; each has a slow, obvious twin in the tests."""
