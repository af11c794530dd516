"""Which steps are certified, with confidence, to keep a bound for people who are not among the rows."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.stats import norm

from eifffel.selection.bounds import BOTH, Bounds
from eifffel.selection.counts import PathCounts

# A step at which less than this share of the original's balanced accuracy above 1/2 is left decides nearly the same
# about everybody.
LEAST_USEFUL = 0.5
# Walks over a ratio begin where equal rates would be certified this often.
OFTEN = 0.8


class Walk(NamedTuple):
    """Tests of steps in a fixed order: the upper limits of what is in excess of the bound, and the order."""

    excess: np.ndarray
    steps: np.ndarray

    @property
    def certified(self) -> np.ndarray:
        """Which steps are certified; the first whose limit exceeds 0 ends the walk.

        If some step breaks the bound, the first of those on the way must be passed by mistake before any of them can be
        certified, and that test errs no more often than 1 - its level.
        """
        certified = np.zeros(len(self.excess), bool)
        certified[self.steps] = np.maximum.accumulate(self.excess[self.steps]) <= 0
        return certified

    def find_end(self, step: int) -> int | None:
        """The step that ends the walk on the way to ``step``; ``None`` if none does."""
        way = self.steps[: np.flatnonzero(self.steps == step)[0]]
        failed = way[self.excess[way] > 0]
        return int(failed[0]) if len(failed) else None


def certify(counts: PathCounts, bounds: Bounds, start: int | None) -> np.ndarray:
    """Whether each step is certified to keep a bound in the directions asked for.

    Every walk is fixed-sequence testing (Learn then Test, Angelopoulos et al. 2021), and errs no more often than one
    test of its `Bounds.level` does, however many steps there are. Any of the certified steps may be taken.

    Of one difference, ``start`` is ``None``, and a step must be certified by all walks: their errors add up, whatever
    the shape of the path.

    Of several differences, ``start`` is a step that was found without these rows, and two walks go from it towards the
    last and towards the first. At each step every difference must pass its own test, in both directions (an
    intersection-union test), and nothing is lost by that.
    """
    if start is None:
        return np.logical_and.reduce([walk.certified for walk in walk_from_ends(counts, bounds)])
    above, steps = bounds.measure_excess(counts), np.arange(len(counts.favorable))
    return Walk(above, steps[start:]).certified | Walk(above, steps[start::-1]).certified


def walk_from_ends(counts: PathCounts, bounds: Bounds) -> list[Walk]:
    """The walks over one difference.

    One from the last step towards the first certifies that it is not above the bound; another from the first towards
    the last that its opposite is not, where both directions are bounded.
    """
    tested = _find_tested(counts, bounds)
    walks = [Walk(bounds.measure_excess(counts), np.arange(tested[-1], -1, -1))]
    if bounds.sides == BOTH:
        walks.append(Walk(bounds.measure_excess(counts, exchanged=True), np.arange(tested[0], len(counts.favorable))))
    return walks


def _find_tested(counts: PathCounts, bounds: Bounds) -> np.ndarray:
    """The steps of which the first and the last are where walks from both ends begin.

    All of them for a difference. For a ratio those at which so many people are favoured that equal rates would be
    certified as a rule: where hardly anybody is, no test can pass. Only how many they are in all is looked at, not how
    many of them are of which group.
    """
    if bounds.ratio is None:
        return np.arange(len(counts.favorable))
    size = counts.constraint.count_sides(counts.totals)
    share = counts.constraint.count_sides(counts.favorable).sum(axis=-1) / size.sum()
    alike = replace(counts, favorable=counts.totals * share[:, None, None])
    excess = bounds.measure_excess(alike)
    if bounds.sides == BOTH:
        excess = np.maximum(excess, bounds.measure_excess(alike, exchanged=True))
    spread = np.sqrt(share * (1 - share) * (1 / size.min() + bounds.ratio**2 / size.max()))
    for often in (OFTEN, 0.5):
        tested = np.flatnonzero(excess + norm.ppf(often) * spread <= 0)
        if len(tested):
            return tested
    return np.flatnonzero(share == share.max())


def find_start(searched: PathCounts | None, of_labels: PathCounts, bounds: Bounds) -> int | None:
    """The step at which to start where several differences are bounded, from rows that certify nothing; else ``None``.

    Of the stretches of steps that keep the bound on these rows, the first with a step whose limits keep it, too; there,
    the step with the smallest limit. Where no limit keeps it, the smallest of all. Steps count that keep ``alpha``, and
    that are not near to one decision for all: it makes all differences small, and nobody wants it. If these rows have
    no labels, those ``of_labels`` say so.
    """
    if searched is None:
        return None
    above = bounds.measure_excess(searched)
    labelled = searched if searched.totals.shape[-1] == 2 else of_labels
    allowed = np.ones(len(above), bool)
    if labelled.totals.sum(axis=0).all():
        # b_k - 1/2 is what the balanced accuracy b_k of a step is above that of one decision for all.
        useful = labelled.objective("balanced_accuracy") - 0.5
        allowed = useful >= LEAST_USEFUL * useful[0]
        if bounds.alpha is not None:
            allowed &= labelled.drop(bounds.objective) <= bounds.alpha
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

    Of one difference, by how much its limits exceed the bound, where walks come by; of several, how far it is from the
    ``start`` of tests.
    """
    if start is not None:
        return np.abs(np.arange(len(counts.favorable)) - start)
    away = np.full(len(counts.favorable), -np.inf)
    for walk in walk_from_ends(counts, bounds):
        passed_by = np.isin(np.arange(len(away)), walk.steps)
        away = np.maximum(away, np.where(passed_by, walk.excess, np.inf))
    return away
