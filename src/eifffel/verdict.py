"""The verdict: does a bound hold on rows, and may that be chance?"""

from dataclasses import dataclass
from typing import NamedTuple


class Judgement(NamedTuple):
    """Whether a bound holds, whether that is beyond chance, and both in words."""

    holds: bool
    certain: bool
    heading: str
    clause: str


def judge(
    discrimination: float, interval: tuple[float, float] | None, epsilon: float, *, signed: bool = False
) -> Judgement:
    """Compare a discrimination and its interval with a bound, in one direction only if ``signed``."""
    holds = (discrimination if signed else abs(discrimination)) <= epsilon
    side = "Within" if holds else "Outside"
    clause = f"{side.lower()} the bound of {epsilon:g}"
    if interval is None:
        return Judgement(holds, False, f"{side} the bound", f"{clause}; weighted rows have no interval")
    low, high = interval
    if signed and discrimination < -epsilon:
        return Judgement(
            True,
            high <= epsilon,
            "Past zero: the other group is favoured now",
            f"within the bound of {epsilon:g} in the direction in which it was asked for, and beyond it in the other",
        )
    inside = high <= epsilon and (signed or low >= -epsilon)
    outside = low > epsilon or (not signed and high < -epsilon)
    if inside or outside:
        return Judgement(holds, True, f"{side} the bound", f"{clause}, as is the whole interval")
    reach = "reaches beyond it" if holds else "holds it"
    return Judgement(
        holds, False, f"{side} the bound, but it may be chance", f"{clause}, but it may be chance: the interval {reach}"
    )


@dataclass(frozen=True)
class Verdict:
    """Whether the bound that chose a step holds on other rows. ``print`` says it in words.

    Attributes
    ----------
    holds : bool
        Whether the discrimination measured is within the bound: in either direction, or, where the step was chosen
        with ``confidence``, signed.
    certain : bool
        Whether that is so for the whole interval, or for none of it.
    step : int
    epsilon : float
    discrimination : float
    interval : tuple of two floats, or None
        Two-sided, 95% or of the confidence that was asked for; ``None`` for weighted rows.
    accuracy : float or None
        ``None`` where the rows have no labels.
    rows : str
    n_rows : tuple of two ints
        In the unprivileged and in the privileged group.
    heading, sentence : str
    """

    holds: bool
    certain: bool
    step: int
    epsilon: float
    discrimination: float
    interval: tuple[float, float] | None
    accuracy: float | None
    rows: str
    n_rows: tuple[int, int]
    heading: str
    sentence: str

    def __str__(self) -> str:
        return f"{self.heading}. {self.sentence}"
