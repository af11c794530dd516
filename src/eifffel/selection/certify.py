"""Which steps are certified, with confidence, to keep a bound for people who are not among the rows."""

import numpy as np

from eifffel.exceptions import InputError, parameter
from eifffel.selection.bounds import BOTH, Bounds
from eifffel.selection.counts import PathCounts
from eifffel.selection.selection import KnownRows

# A step at which less than this share of the original's balanced accuracy above 1/2 is left decides nearly the same
# about everybody.
LEAST_USEFUL = 0.5


def certify(counts: PathCounts, bounds: Bounds, start: int | None) -> np.ndarray:
    """Whether each step is certified to keep a bound in the directions asked for.

    Every walk is fixed-sequence testing (Learn then Test, Angelopoulos et al. 2021), and errs no more often than one
    test of its `Bounds.level` does, however many steps there are. Any of the certified steps may be taken.

    Of one difference, ``start`` is ``None``. A walk from the last step towards the first certifies that it is not above
    the bound, another from the first towards the last that its opposite is not. A step that both certify keeps the
    bound in both directions: the errors of the two walks add up, whatever the shape of the path. Of a ratio, a walk
    begins at the first step on its way at which anybody is favoured: before, there is none.

    Of several differences, ``start`` is a step that was found without these rows, and two walks go from it towards the
    last and towards the first. At each step every difference must pass its own test, in both directions (an
    intersection-union test), and nothing is lost by that.
    """
    above = bounds.measure_excess(counts)
    if start is not None:
        steps = np.arange(len(above))
        return _walk(above, steps[start:]) | _walk(above, steps[start::-1])
    defined = np.arange(len(above)) if bounds.ratio is None else np.flatnonzero(~np.isnan(counts.ratio))
    first, last = (defined[0], defined[-1]) if len(defined) else (len(above), -1)
    certified = _walk(above, np.arange(last, -1, -1))
    if bounds.sides == BOTH:
        certified &= _walk(bounds.measure_excess(counts, exchanged=True), np.arange(first, len(above)))
    return certified


def _walk(excess: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """Which of these steps are certified, tested in this order; the first whose limit exceeds 0 ends it.

    If some step breaks the bound, the first of those on the way must be passed by mistake before any of them can be
    certified, and that test errs no more often than 1 - its level.
    """
    certified = np.zeros(len(excess), bool)
    certified[steps] = np.maximum.accumulate(excess[steps]) <= 0
    return certified


def find_start(searched: PathCounts | None, bounds: Bounds) -> int | None:
    """The step at which to start where several differences are bounded, from rows that certify nothing; else ``None``.

    Of the stretches of steps that keep the bound on these rows, the first with a step whose limits keep it, too; there,
    the step with the smallest limit. Where no limit keeps it, the smallest of all. Steps count that keep ``alpha``, and
    that are not near to one decision for all: it makes all differences small, and nobody wants it.
    """
    if searched is None:
        return None
    above = bounds.measure_excess(searched)
    allowed = np.ones(len(above), bool)
    if searched.totals.shape[-1] == 2 and searched.totals.sum(axis=0).all():
        # b_k - 1/2 is what the balanced accuracy b_k of a step is above that of one decision for all.
        useful = searched.objective("balanced_accuracy") - 0.5
        allowed = useful >= LEAST_USEFUL * useful[0]
        if bounds.alpha is not None:
            allowed &= searched.drop(bounds.objective) <= bounds.alpha
        allowed[0] |= not allowed.any()
    certified = np.flatnonzero(allowed & (above <= 0))
    if len(certified):
        kept = searched.ratio >= bounds.ratio if bounds.ratio is not None else searched.discrimination <= bounds.value
        ends = np.flatnonzero(~(allowed & kept))
        after = np.searchsorted(ends, certified[0])
        begin = ends[after - 1] + 1 if after else 0
        allowed[:begin] = False
        allowed[ends[after] if after < len(ends) else len(above) :] = False
    return int(np.argmin(np.where(allowed, above, np.inf)))


def find_nearest(counts: PathCounts, bounds: Bounds, start: int | None) -> np.ndarray:
    """How far each step is from being certified, shape (n_steps + 1,): that with the least is the nearest.

    Of one difference, by how much its limits exceed the bound; of several, how far it is from the ``start`` of tests.
    """
    above = bounds.measure_excess(counts)
    if start is not None:
        return np.abs(np.arange(len(above)) - start)
    return above if bounds.sides != BOTH else np.maximum(above, bounds.measure_excess(counts, exchanged=True))


def check_certifiable(counts: PathCounts, confidence: float, rows: KnownRows) -> None:
    """Raise unless rows can say something about other people."""
    if rows.seen:
        why = (
            f"the model was trained on the {counts.rows} or some of them, as the numbers of rows in its leaves show"
            if rows.trained
            else f"leaves were scored by the {counts.rows}, or by half of them or more"
        )
        raise InputError(
            parameter("confidence")
            + f"={confidence:g} needs rows that neither trained the model nor scored its leaves, and {why}: "
            "what a model does to rows that it knows says little of other people. Hold rows out: select_on=(X, y, "
            "sensitive_features) in trace_path, select_on='validation' in EiFFFeLClassifier; of a model that is "
            "trained, give rows that it has not seen"
        )
    if counts.weighted:
        raise InputError(
            parameter("confidence")
            + f"={confidence:g} counts people, and the {counts.rows} have sample weights that differ; leave the "
            "weights of these rows out, or leave confidence out"
        )
