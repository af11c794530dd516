"""Bounds: what is asked of a step, checked once, printed once, stored once."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from eifffel._utils.validation import check_choice, check_confidence, check_fraction
from eifffel.constraints import Constraint
from eifffel.exceptions import InputError, InputTypeError, parameter
from eifffel.selection.counts import PathCounts
from eifffel.selection.objective import Objective, check_alpha, check_objective

__all__ = ["Bounds"]

# The bound on discrimination where nobody names one.
EPSILON = 0.05
RULES = ("first", "most_accurate", "paper")
# In which directions a difference is bounded: in both, or in that of the first rate minus the second alone.
BOTH, UPPER = "both", "upper"
SIDES = (BOTH, UPPER)


@dataclass(frozen=True)
class Bounds:
    """What a step must keep, and which of those that do is taken.

    Attributes
    ----------
    epsilon, ratio : float or None
        The bound on the difference of rates, or on their ratio; one of the two is given.
    alpha : float or None
        The bound on the loss of the objective; ``None`` is no limit.
    rule : str
        Which step is taken; see `eifffel.FairnessPath.select`.
    confidence : float or None
        With which the bound must hold for people drawn as the rows were; ``None`` is on these rows only.
    objective : str or costs
        What ``alpha`` limits the loss of.
    sides : str
        ``"both"``, or ``"upper"`` where only that is bounded by which the privileged group is favoured.

    Raises
    ------
    ValueError, TypeError
        If they make no sense, or none together.

    Examples
    --------
    >>> from eifffel.selection.bounds import Bounds
    >>> bounds = Bounds(epsilon=0.05, alpha=0.02, confidence=0.95)
    >>> print(bounds)
    epsilon=0.05 with confidence=0.95 and alpha=0.02
    """

    epsilon: float | None = None
    ratio: float | None = None
    alpha: float | None = None
    rule: str = "first"
    confidence: float | None = None
    objective: Objective = "accuracy"
    sides: str = BOTH

    def __post_init__(self) -> None:
        object.__setattr__(self, "objective", check_objective(self.objective))
        check_one_bound(self.epsilon, self.ratio)
        if self.epsilon is None and self.ratio is None:
            raise InputTypeError(
                parameter("epsilon")
                + " must be a number in [0, 1], got None; give it, 0.05 for instance, or give ratio"
            )
        if self.ratio is None:
            check_fraction("epsilon", self.epsilon)
        elif self.rule == "paper":
            raise ValueError(
                "rule='paper' stops at a difference, and ratio is none; give epsilon, or take rule='first'"
            )
        check_alpha(self.alpha, self.objective)
        check_choice("rule", self.rule, RULES)
        check_choice("sides", self.sides, SIDES)
        check_confidence(self.confidence, optional=True)
        if self.confidence is not None and self.is_exact:
            raise InputError(
                self.bound
                + " in both directions is certified by no number of rows, for no two rates are known to be the same. "
                f"Give a {self.looser}, or leave " + parameter("confidence") + " out"
            )
        if self.confidence is not None and self.rule == "paper":
            raise ValueError(
                "rule='paper' stops at the first step that keeps the bound on the rows measured, and no confidence "
                "comes with it; leave confidence out, or take rule='first'"
            )

    @classmethod
    def or_default(cls, *, epsilon: float | None, ratio: float | None, **others: Any) -> "Bounds":
        """These bounds, with the usual one on discrimination where neither it nor a ratio is given."""
        return cls(epsilon=EPSILON if epsilon is None and ratio is None else epsilon, ratio=ratio, **others)

    @property
    def kind(self) -> str:
        """Which of the two is bounded: ``"epsilon"`` or ``"ratio"``."""
        return "epsilon" if self.ratio is None else "ratio"

    @property
    def value(self) -> float:
        """The bound itself."""
        found = self.epsilon if self.ratio is None else self.ratio
        assert found is not None
        return found

    @property
    def is_exact(self) -> bool:
        """Whether only rates that are the same keep the bound."""
        return self.sides == BOTH and (self.epsilon == 0 or self.ratio == 1)

    @property
    def looser(self) -> str:
        """What to allow where it is too strict, in words."""
        return name_looser(self.ratio)

    @property
    def bound(self) -> str:
        """The bound on the difference or the ratio, in words."""
        return (parameter("epsilon") if self.ratio is None else parameter("ratio")) + f"={self.value:g}"

    @property
    def words(self) -> str:
        """All of them in words."""
        named = [
            parameter("sides") + f"={self.sides!r}" if self.sides != BOTH else None,
            None if self.confidence is None else parameter("confidence") + f"={self.confidence:g}",
            None if self.alpha is None else parameter("alpha") + f"={self.alpha:g}",
        ]
        asked = [words for words in named if words is not None]
        words = self.bound
        for k, one in enumerate(asked):
            words = words + (" with " if k == 0 else " and " if k == len(asked) - 1 else ", ") + one
        return words

    def __str__(self) -> str:
        return str(self.words)

    def at(self, value: float) -> "Bounds":
        """Return the bounds with another bound on the difference, or on the ratio."""
        return replace(self, epsilon=value) if self.ratio is None else replace(self, ratio=value)

    @property
    def level(self) -> float:
        """The confidence of each of the tests that together have the one asked for."""
        assert self.confidence is not None
        return (1 + self.confidence) / 2 if self.sides == BOTH else self.confidence

    def measure_excess(self, counts: PathCounts, *, exchanged: bool = False) -> np.ndarray:
        """The upper limit, after each step, of what is in excess of the bound, at the `level` of each test.

        With the two sides of each difference ``exchanged``, in the other direction.
        """
        if self.ratio is not None:
            return counts.ratio_limits(self.ratio, self.level, exchanged=exchanged)
        return counts.limits(self.level, exchanged=exchanged) - self.value

    def check_sides(self, constraint: Constraint) -> None:
        """Raise if one direction is to be bounded, and what is compared has none."""
        if self.sides != BOTH and constraint.several:
            raise InputError(
                parameter("sides")
                + f"={self.sides!r} bounds a difference in the one direction that it has between two groups; here "
                "several differences are bounded, which have none. Leave it out"
            )


def name_looser(ratio: float | None) -> str:
    """What to allow where a bound on the difference, or on this ratio, is too strict, in words."""
    return "larger epsilon" if ratio is None else "smaller ratio"


def check_one_bound(epsilon: Any, ratio: Any) -> None:
    """Raise if both a difference and a ratio are bounded."""
    if epsilon is not None and ratio is not None:
        both = parameter("epsilon") + f"={epsilon!r} and " + parameter("ratio") + f"={ratio!r}"
        raise InputError(both + " are two bounds; give one of them")
    if ratio is not None:
        check_fraction("ratio", ratio)
        if ratio == 0:
            raise InputError(parameter("ratio") + " must be above 0, got 0; 0.8 is the four-fifths rule")
