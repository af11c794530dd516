"""What a strategy makes: the order in which leaves are flipped."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class FlipOrder:
    """Leaves in the order of flipping; a leaf appears at most once.

    Attributes
    ----------
    leaf : ndarray of shape (n_flips,)
        Leaves, numbered over the whole ensemble.
    step : ndarray of shape (n_flips,)
        The step, from 1 on, at which each is flipped; never falling.
    """

    leaf: np.ndarray
    step: np.ndarray

    @property
    def n_steps(self) -> int:
        return int(self.step[-1]) if len(self.step) else 0
