"""Which steps are certified, with confidence, to keep a bound for people who are not among the rows."""

from typing import NamedTuple

import numpy as np

from eifffel.selection.bounds import BOTH, Bounds
from eifffel.selection.counts import PathCounts

# A step at which less than this share of the original's balanced accuracy above 1/2 is left decides nearly the same
# about everybody.
LEAST_USEFUL = 0.5
# A ratio is tested where at least this share is favoured of those whom the original model favours.
LEAST_FAVORED = 0.5


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
        """The step that ends the walk on the way to ``step``; ``None`` if none does, or it does not go there."""
        way = self.steps[: np.append(np.flatnonzero(self.steps == step), 0)[0]]
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
    certified = [walk.certified for walk in find_walks(counts, bounds, start)]
    return (np.logical_and if start is None else np.logical_or).reduce(certified)


def find_walks(counts: PathCounts, bounds: Bounds, start: int | None) -> list[Walk]:
    """The walks of `certify`.

    Of one difference one from the last step towards the first, which certifies that it is not above the bound; and
    another from the first towards the last, that its opposite is not, where both directions are bounded.
    """
    if start is not None:
        above, steps = bounds.measure_excess(counts), np.arange(len(counts.favorable))
        return [Walk(above, steps[start:]), Walk(above, steps[start::-1])]
    tested = find_tested(counts, bounds)
    walks = [Walk(bounds.measure_excess(counts), tested[::-1])]
    if bounds.sides == BOTH:
        walks.append(Walk(bounds.measure_excess(counts, exchanged=True), tested))
    return walks


def find_tested(counts: PathCounts, bounds: Bounds) -> np.ndarray:
    """The steps that walks from both ends come by.

    All of them for a difference. For a ratio those at which half as many people are favoured as by the original model:
    where hardly anybody is, no test can pass, and would end the walk. Only how many they are in all is looked at, not
    how many of them are of which group.
    """
    if bounds.ratio is None:
        return np.arange(len(counts.favorable))
    favored = _count_favored(counts)
    return np.flatnonzero(favored >= LEAST_FAVORED * favored[0])


def _count_favored(counts: PathCounts) -> np.ndarray:
    """How many of those who are compared are favoured after each step."""
    return counts.constraint.count_sides(counts.favorable).sum(axis=-1)


def find_useful(of_labels: PathCounts) -> np.ndarray:
    """Whether each step does not decide nearly the same about everybody; all of them if labels of a kind are missing.

    Rates that are the same for want of decisions are easily certified, and nobody wants them.
    """
    if not of_labels.totals.sum(axis=0).all() or of_labels.totals.shape[-1] == 1:
        return np.ones(len(of_labels.favorable), bool)
    # b_k - 1/2 is what the balanced accuracy b_k of a step is above that of one decision for all.
    above = of_labels.objective("balanced_accuracy") - 0.5
    useful: np.ndarray = above >= LEAST_USEFUL * above[0]
    useful[0] = True
    return useful


def find_start(searched: PathCounts | None, of_labels: PathCounts, bounds: Bounds) -> int | None:
    """The step at which to start where several differences are bounded, from rows that certify nothing; else ``None``.

    Of the stretches of steps that keep the bound on these rows, the first with a step whose limits keep it, too, or
    else the first of all; there, the step with the smallest limit. Where no step keeps the bound, the nearest to it.
    Steps count that keep ``alpha``, and that are not near to one decision for all: it makes all differences small, and
    nobody wants it. If these rows have no labels, those ``of_labels`` say so.
    """
    if searched is None:
        return None
    above = bounds.measure_excess(searched)
    labelled = searched if searched.totals.shape[-1] == 2 else of_labels
    allowed = find_useful(labelled)
    if bounds.alpha is not None and labelled.totals.sum(axis=0).all():
        allowed &= labelled.drop(bounds.objective) <= bounds.alpha
    away = searched.discrimination - bounds.value if bounds.ratio is None else bounds.ratio - searched.ratio
    away = np.nan_to_num(away, nan=np.inf)
    within = allowed & (away <= 0)
    likely = np.flatnonzero(within & (above <= 0))
    if not len(likely):
        likely = np.flatnonzero(within)
    if not len(likely):
        return int(np.argmin(np.where(allowed, away, np.inf)))
    ends = np.flatnonzero(~within)
    after = np.searchsorted(ends, likely[0])
    begin = ends[after - 1] + 1 if after else 0
    stretch = slice(begin, ends[after] if after < len(ends) else len(above))
    return int(begin + np.argmin(above[stretch]))


def find_nearest(counts: PathCounts, bounds: Bounds, start: int | None) -> np.ndarray:
    """How far each step is from being certified, shape (n_steps + 1,): that with the least is the nearest.

    Of one difference, by how much its limits exceed the bound, where walks come by (of a ratio, in proportion to how
    many are favoured); of several, how far it is from the ``start`` of tests.
    """
    if start is not None:
        return np.abs(np.arange(len(counts.favorable)) - start)
    tested = find_tested(counts, bounds)
    away = np.full(len(counts.favorable), np.inf)
    away[tested] = np.max([walk.excess[tested] for walk in find_walks(counts, bounds, None)], axis=0)
    return away if bounds.ratio is None else away / np.maximum(_count_favored(counts), 1)
