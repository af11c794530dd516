"""Hypothesis draws anew on every run at home, and the same cases on every run of the continuous integration."""

import os

from hypothesis import settings

settings.register_profile("ci", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("ci")
