"""The path in a report: the steps that some bound selects, measured on the rows of the report."""

import numpy as np

from eifffel.objective import name_loss
from eifffel.path import FairnessPath
from eifffel.path_counts import PathCounts
from eifffel.report._estimates import measure_all, measure_groups, number
from eifffel.report.facts import AtChoice, Bound, NamedRows, Point, Tradeoff
from eifffel.selecting import choose_step
from eifffel.selection import Selection
from eifffel.telling import Told, tell

# Bounds that a reader can ask for are this far apart.
STEPS = {"epsilon": 0.001, "ratio": 0.005}


def summarize_path(path: FairnessPath, measured: FairnessPath, selection: Selection) -> Tradeoff | None:
    """The steps that bounds select on the selection rows, and what they do to the rows of the report.

    Of people who are described, on both; ``None`` where that leaves nobody to choose by.
    """
    kind, asked = selection.bounds.kind, selection.bounds.value
    chosen_on = tell(path.counts_for(selection.confidence), path.grouping)
    counts, accuracy_counts = chosen_on.compared, tell(path.accuracy_counts, path.grouping).labelled
    if counts is None or accuracy_counts is None or not _has_objective(accuracy_counts, selection):
        return None
    bounds = sorted({*_bounds(counts, kind, asked), asked})
    chosen = [choose_step(counts, accuracy_counts, path.order.safest, selection.bounds.at(bound)) for bound in bounds]
    own = bounds.index(asked)
    chosen[own] = selection.step, selection.met
    steps = sorted({step for step, _ in chosen} | {0, selection.step})
    place = {step: k for k, step in enumerate(steps)}
    here = tell(measured.counts, path.grouping)
    return Tradeoff(
        strategy=path.strategy,
        n_steps=path.n_steps,
        rule=selection.rule,
        alpha=selection.alpha,
        confidence=selection.confidence,
        loss=name_loss(selection.objective),
        chosen_on=NamedRows(selection.discrimination_rows, int(chosen_on.decided.n_rows.sum())),
        accuracy_on=NamedRows(accuracy_counts.rows, int(accuracy_counts.n_rows.sum())),
        kind=kind,
        chosen_bound=own,
        bounds=tuple(Bound(bound, place[step], met) for bound, (step, met) in zip(bounds, chosen, strict=True)),
        points=tuple(_point(path, here, counts, accuracy_counts, step, selection.confidence) for step in steps),
    )


def _has_objective(counts: PathCounts, selection: Selection) -> bool:
    """Whether rows have what is limited; balanced accuracy needs both labels."""
    return selection.objective != "balanced_accuracy" or bool(counts.totals.sum(axis=0).all())


def _bounds(counts: PathCounts, kind: str, asked: float) -> list[float]:
    """From what the model as it came would keep to the strictest of all."""
    step = STEPS[kind]
    if kind == "epsilon":
        most = max(abs(float(counts.discrimination[0])), asked)
        return [round(k * step, 6) for k in range(min(int(np.ceil(most / step)) + 5, round(1 / step)) + 1)]
    least = min(float(np.nan_to_num(counts.ratio[0])), asked)
    return [round(k * step, 6) for k in range(max(int(least / step) - 5, 1), round(1 / step) + 1)]


def _point(
    path: FairnessPath,
    here: Told,
    chosen: PathCounts,
    accuracy_counts: PathCounts,
    step: int,
    confidence: float | None,
) -> Point:
    constraint = path.counts.constraint if here.compared is None else here.compared.constraint
    return Point(
        step=step,
        position=float(path.positions[step]),
        changed_leaves=path.n_flips(step),
        selection=AtChoice(
            discrimination=float(chosen.discrimination[step]),
            ratio=number(chosen.ratio[step]),
            accuracy=float(accuracy_counts.objective("accuracy")[step]),
            accuracy_drop=float(accuracy_counts.drop("accuracy")[step]),
            upper=None if confidence is None else number(chosen.limits(confidence)[step]),
        ),
        overall=measure_all(here, step, path.grouping),
        groups=measure_groups(here, step, path.grouping, constraint),
    )
