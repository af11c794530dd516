"""Data sets."""

from eifffel.datasets._synthetic import make_biased_classification

__all__ = ["make_biased_classification"]
