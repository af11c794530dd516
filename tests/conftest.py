"""How the tests run: beside each other, and in continuous integration with the same drawn cases every time."""

import os

from hypothesis import settings

# Each process, and each command that a test starts, computes with one thread: threads of several on the same cores wait
# for each other, which made single tests take minutes.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Hypothesis draws anew on every run at home.

# Examples take as long as the machine is busy.
settings.register_profile("default", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("default")
if os.environ.get("CI"):
    settings.load_profile("ci")
