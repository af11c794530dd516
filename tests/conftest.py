"""Hypothesis draws anew on every run at home, and the same cases on every run of the continuous integration."""

import os

from hypothesis import settings

# Examples take as long as the machine is busy.
settings.register_profile("default", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("default")
if os.environ.get("CI"):
    settings.load_profile("ci")
