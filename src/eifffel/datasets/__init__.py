"""Data sets: the paper's three, as their publishers give them, and a synthetic one."""

from eifffel.datasets._adult import fetch_adult
from eifffel.datasets._bank import fetch_bank
from eifffel.datasets._compas import fetch_compas
from eifffel.datasets._synthetic import make_biased_classification

__all__ = ["fetch_adult", "fetch_bank", "fetch_compas", "make_biased_classification"]
