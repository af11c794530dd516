"""The judgement: a number and its interval beside a bound -> whether it holds, and whether that may be chance."""

from typing import NamedTuple, Protocol

# What a judgement can be. A step overshoots if it keeps the bound in the one direction that was asked for, and breaks
# it in the other.
WITHIN, OUTSIDE, OVERSHOOTS = "within", "outside", "overshoots"


class Judgement(NamedTuple):
    """Whether a bound holds, whether that is beyond chance, and both in words."""

    kind: str
    certain: bool
    heading: str
    clause: str

    @property
    def holds(self) -> bool:
        """Whether it does, in the direction that was asked for."""
        return self.kind != OUTSIDE


def judge(
    discrimination: float, interval: tuple[float, float] | None, epsilon: float, *, signed: bool = False
) -> Judgement:
    """Compare a discrimination and its interval with a bound, in one direction only if ``signed``."""
    holds = (discrimination if signed else abs(discrimination)) <= epsilon
    kind = OVERSHOOTS if signed and discrimination < -epsilon else WITHIN if holds else OUTSIDE
    certain, other_side = False, ""
    if interval is not None:
        low, high = interval
        inside = high <= epsilon and (signed or low >= -epsilon)
        certain = inside if holds else low > epsilon or (not signed and high < -epsilon)
        if kind == OVERSHOOTS:
            other_side = ", which may be chance" if high >= -epsilon else ""
        elif signed and holds and low < -epsilon:
            other_side = "; in the other direction, which was not asked for, the interval reaches beyond it"
    judged = _word(kind, certain, epsilon, interval, no_interval="weighted rows have no interval", out="beyond")
    return judged._replace(clause=judged.clause + other_side)


def judge_ratio(ratio: float, interval: tuple[float, float] | None, least: float, *, turned: bool = False) -> Judgement:
    """Compare the smallest ratio of two rates and its interval with a bound.

    ``turned`` is where the bound was asked for in one direction, and it is the other group that is favoured now.
    """
    kind = WITHIN if ratio >= least else OVERSHOOTS if turned and ratio < least else OUTSIDE
    certain = False
    if interval is not None and kind != OVERSHOOTS:
        certain = interval[0] >= least if kind == WITHIN else interval[1] < least
    return _word(kind, certain, least, interval, no_interval="it has no interval", out="below")


def _word(
    kind: str,
    certain: bool,
    bound: float,
    interval: tuple[float, float] | None,
    *,
    no_interval: str,
    out: str,
) -> Judgement:
    """In words; ``out`` is where the interval lies if it is not within the bound."""
    side = "Outside" if kind == OUTSIDE else "Within"
    heading, clause = f"{side} the bound", f"{side.lower()} the bound of {bound:g}"
    if kind == OVERSHOOTS:
        heading = "Past zero: the other group is favoured now"
        clause += " in the direction in which it was asked for, and beyond it in the other"
    elif interval is None:
        clause += f"; {no_interval}"
    elif certain:
        clause += ", as is the whole interval"
    else:
        heading += ", but it may be chance"
        clause += f", but it may be chance: the interval {'holds it' if kind == OUTSIDE else f'reaches {out} it'}"
    return Judgement(kind, certain, heading, clause)


def is_unclear(interval: tuple[float, float] | None) -> bool:
    """Whether the interval of an original model's discrimination contains 0."""
    return interval is not None and interval[0] <= 0 <= interval[1]


def say_unclear(interval: tuple[float, float] | None, *, edited: bool) -> str:
    """That it does, in words; nothing but an ``edited`` model has an original."""
    low, high = interval or (0.0, 0.0)
    by, whose = (" by the original model", "its") if edited else ("", "the")
    return (
        f"these rows do not say which group is favoured{by}: the interval of {whose} discrimination, {low:.4f} to "
        f"{high:.4f}, contains 0"
    )


class Limited(Protocol):
    """A step with the limits of its discrimination, or of its ratio."""

    @property
    def directed(self) -> bool: ...
    @property
    def lower(self) -> float | None: ...
    @property
    def upper(self) -> float | None: ...


def say_limits(chosen: Limited, *, digits: int) -> str:
    """The limits of a discrimination or a ratio, after its value."""
    lower, upper = chosen.lower, chosen.upper
    if upper is None:
        return "" if lower is None else f", at least {lower:.{digits}f}"
    if lower is None or not chosen.directed:
        return f", at most {upper:.{digits}f}"
    return f", from {lower:.{digits}f} to {upper:.{digits}f}"
