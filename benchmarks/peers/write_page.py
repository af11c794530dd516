"""The page: what was run, who is ahead where, and what each method gives and takes."""

import csv
import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from exchange import EPSILONS
from measures import LEVELS, Curve, Measured, jackknife, read_base, read_curve
from methods import ERRORS, METHODS, RATES
from page import VERSIONS, save, say
from pictures import draw
from splits import CASES, N_DRAWN, task_file
from verdict import (
    BOOSTED,
    CLOSE,
    OURS,
    OURS_BOOSTED,
    SHARE,
    Beside,
    Where,
    beside_best_aware,
    beside_blind,
    peers,
    shares_of_reduction,
    time_per_bound,
)

from eifffel._writing import write_whole
from eifffel.experiments._protocol import FEATURES, N_TREES

REQUIREMENTS = Path(__file__).parents[2] / "requirements" / "peers"
METRICS = ("accuracy", "balanced_accuracy")


@dataclass(frozen=True, eq=False)
class Results:
    """Curves by case, features and method, and whether each method's model loads without its library."""

    curves: dict[Where, dict[str, Curve]]
    base: dict[Where, Curve]
    plain: dict[str, str]

    @classmethod
    def read(cls, folder: Path, cases: list[str], most_seeds: int | None) -> "Results":
        curves: dict[Where, dict[str, Curve]] = {}
        base = {}
        for where in ((case, features) for case in cases for features in FEATURES):
            tasks = {
                name: [
                    task_file(folder, *where, seed)
                    for seed in range(min(method.n_seeds(where[0]), most_seeds or method.n_seeds(where[0])))
                ]
                for name, method in METHODS.items()
            }
            curves[where] = {name: read_curve(of_method, name) for name, of_method in tasks.items()}
            base[where] = read_base(max(tasks.values(), key=len))
        plain = {name: (folder / f"{name}.plain.txt").read_text().strip() for name in METHODS}
        return cls(curves, base, plain)

    def mean(self, name: str, what: Callable[[Curve], float]) -> float:
        """Of a method, over the cases."""
        return float(np.mean([what(of_method[name]) for of_method in self.curves.values()]))


def table(head: list[str], rows: list[list[str]]) -> None:
    say(f"| {' | '.join(head)} |")
    say(f"|{'---|' * len(head)}")
    for row in rows:
        say(f"| {' | '.join(row)} |")
    say()


def title_of(where: Where) -> str:
    case, features = where
    return f"{CASES[case].title}, {features}"


def shown(value: float, error: float, digits: int = 2) -> str:
    return f"{value:.{digits}f} ± {error:.{digits}f}"


def versions() -> str:
    """Of the peers, as they are pinned."""
    found = []
    for file in sorted(REQUIREMENTS.glob("*.txt")):
        pins = dict(line.split("==") for line in file.read_text().split() if "==" in line)
        found.append(f"{file.stem} {pins[file.stem]}")
    return ", ".join(found)


def introduce(n_seeds: int) -> None:
    say("# eifffel beside what people would use instead")
    say()
    say("Made by `make benchmark-peers` (`python benchmarks/peers/run.py`).")
    say(f"{VERSIONS}; {versions()}, each in an environment of its own, pinned in `requirements/peers`.")
    say()
    many = max((method.seeds or {}).get("compas", 0) for method in METHODS.values())
    say(
        f"The data, splits and forests of the reproduction ({N_TREES} trees; seeds 0 to {n_seeds - 1}, on Bank and "
        f"COMPAS 0 to {many - 1} for all but ExponentiatedGradient and RejectOption), {N_DRAWN:,} people of the "
        "synthetic generator, others for each seed, and Adult with leaves of 20 rows as well, for trees that are grown "
        "out know their training rows by heart, and what trains under a bound then meets it on those rows alone. Of "
        "all rows 60% train the base forest, 20% are held out for whatever comes after training, and 20% are the test "
        "rows that every number here is of. What trains a model of its own instead gets all 80%. On Bank, where "
        "forests weigh classes, accuracy is balanced accuracy, and each peer gets that objective where it can. "
        "*With* and *without*: whether the sensitive column is among the features; a peer that needs the group is "
        "told it either way."
    )
    say()


def judge(results: Results) -> None:
    """The bars, and where they are missed."""
    blind, aware = list(beside_blind(results)), list(beside_best_aware(results))
    lost, far = [one for one in blind if one.is_loss], [one for one in aware if not one.is_close]
    shares = shares_of_reduction(results)
    plain = [name for name in peers(needs_group=False) + peers(needs_group=True) if results.plain[name] == "yes"]
    own = time_per_bound(results, OURS)
    faster = [name for name in plain if time_per_bound(results, name) < own]
    say("## Bars")
    say()
    say(
        f"eifffel is here what a user of it would end with who tries its three strategies on the forest "
        f"(*{METHODS[OURS].title}*); beside {', '.join(METHODS[name].title for name in BOOSTED)} it is "
        f"*{METHODS[OURS_BOOSTED].title}*. Differences are paired, of means over the splits at equal discrimination, "
        "with a standard error by leaving out one split at a time."
    )
    say()
    rows = [
        [
            "behind no peer that does not need the group, beyond two standard errors",
            verdict(not lost, f"behind in {len(lost)} of {len(blind)} comparisons"),
        ],
        [
            f"within {CLOSE} points or two standard errors of the best peer that needs the group",
            verdict(not far, f"further behind in {len(far)} of {len(aware)}"),
        ],
        [
            f"fitting takes at most {SHARE} of ExponentiatedGradient's time",
            verdict(max(shares.values()) <= SHARE, f"{min(shares.values()):.4f} to {max(shares.values()):.4f}"),
        ],
        [
            "no peer that gives a plain model is faster per bound for ten bounds",
            verdict(not faster, f"such peers: {', '.join(METHODS[name].title for name in plain) or 'none'}"),
        ],
    ]
    table(["", ""], rows)
    say("## Where eifffel is behind")
    say()
    if lost:
        say("Peers that do not need the group:")
        say()
        lose(lost)
    if far:
        say("The best peer that needs the group:")
        say()
        lose(far)


def verdict(met: bool, found: str) -> str:
    return f"{'met' if met else 'MISSED'}: {found}"


def lose(found: list[Beside]) -> None:
    table(
        ["", "discrimination", "peer", "points behind"],
        [
            [title_of(one.where), f"{one.level:.2f}", METHODS[one.peer].title, shown(one.points, one.error)]
            for one in found
        ],
    )


def order(bounds: str) -> list[str]:
    """Ours, then peers that do not need the group, then those that do; ours only where they bound the same."""
    ours = [name for name, method in METHODS.items() if method.is_ours and method.bounds == bounds]
    return [*ours, *peers(needs_group=False), *peers(needs_group=True)]


def compare(results: Results, case: str, pictures: Path) -> None:
    say(f"## {CASES[case].title}")
    say()
    where = [(case, features) for features in FEATURES]
    file = pictures / f"{case}.png"
    draw(
        file,
        CASES[case].title,
        {features: results.curves[case, features] for _, features in where},
        {features: results.base[case, features] for _, features in where},
    )
    say(f"![{CASES[case].title}: accuracy and balanced accuracy against discrimination]({pictures.name}/{file.name})")
    say()
    metric = CASES[case].objective
    say(f"{metric.replace('_', ' ').capitalize()} in percent at equal discrimination.")
    say()
    rows = []
    for name in order(RATES):
        cells = []
        for of_case in where:
            curve = results.curves[of_case][name]
            measured = Measured(curve, metric)
            for level in LEVELS:
                value, error = jackknife(lambda splits, m=measured, at=level: 100 * m.at(at, splits), curve.n_splits)
                cells.append(shown(value, error) + ("" if measured.reaches(level) else " †"))
        needs = "group" if METHODS[name].needs_group else ""
        rows.append([METHODS[name].title, needs, str(results.curves[where[0]][name].n_splits), *cells])
    head = [f"{features} {level:.2f}" for features in FEATURES for level in LEVELS]
    table(["", "needs", "splits", *head], rows)
    for of_case in where:
        base = results.base[of_case]
        gap, value = Measured(base, metric).points(np.arange(base.n_splits))
        say(f"The base forest {of_case[1]} the column: {100 * value[0]:.2f} at {gap[0]:.3f}.")
    say()


def compare_errors(results: Results) -> None:
    say("## Peers that bound error rates, by error rates")
    say()
    say(
        "The tables above compare rates of favourable decisions, which some peers do not bound. Here discrimination is "
        "the larger difference of true and of false positive rates, and eifffel bounds that. Accuracy in percent."
    )
    say()
    names = [name for name in order(ERRORS) if METHODS[name].bounds == ERRORS]
    rows = []
    for where, of_method in results.curves.items():
        metric = CASES[where[0]].objective
        for name in names:
            measured = Measured(of_method[name], metric, ERRORS)
            cells = []
            for level in LEVELS:
                n_splits = of_method[name].n_splits
                value, error = jackknife(lambda splits, m=measured, at=level: 100 * m.at(at, splits), n_splits)
                cells.append(shown(value, error) + ("" if measured.reaches(level) else " †"))
            rows.append([title_of(where), METHODS[name].title, *cells])
    table(["", "", *(f"{level:.2f}" for level in LEVELS)], rows)


def tell_bounds(results: Results) -> None:
    say("## Bound asked for, discrimination got")
    say()
    say(
        "For bounds of 0.01, 0.05 and 0.10 on the difference of rates: by how much the discrimination of the test rows "
        "is above the bound in the mean, and how far from it, over all splits and cases of that column."
    )
    say()
    rows = []
    for name in order(RATES):
        if METHODS[name].bounds != RATES:
            continue
        cells = []
        for features in FEATURES:
            above = []
            for where, of_method in results.curves.items():
                curve = of_method[name]
                if where[1] == features:
                    places = [place for place, bound in enumerate(curve.bounds) if bound in LEVELS]
                    asked = np.array([curve.bounds[place] for place in places], np.float64)
                    above.append((curve.gaps(RATES)[:, places, 0] - asked).ravel())
            joined = np.concatenate(above)
            cells += [f"{joined.mean():+.4f}", f"{np.abs(joined).mean():.4f}"]
        rows.append([METHODS[name].title, *cells])
    head = [f"{features}: {what}" for features in FEATURES for what in ("above", "distance")]
    table(["", *head], rows)


def tell_times(results: Results) -> None:
    say("## Time, and what comes out")
    say()
    say(
        "Seconds of one core as ratios to the base forest's: *one bound* is what comes after its training, or instead "
        "of it where a method trains by itself; *of ten* is what one of ten bounds takes (for a method that cannot be "
        "bounded, one of its settings). *Predicting* is for the test rows. Means over the cases. *Plain*: whether the "
        "stored model decides the same where only numpy, scikit-learn and LightGBM are installed, tried on COMPAS."
    )
    say()
    rows = []
    for name in order(RATES):
        method = METHODS[name]
        some = results.curves[next(iter(results.curves))][name]
        one = results.mean(name, lambda curve: float(curve.fit[:, 0].mean()))
        rows.append(
            [
                method.title,
                f"{one:.3f}",
                f"{time_per_bound(results, name):.3f}" if len(some.settings) > 1 else "",
                f"{results.mean(name, lambda curve: float(curve.predict.mean())):.2f}",
                "yes" if method.needs_group else "no",
                "yes" if any(of_method[name].random for of_method in results.curves.values()) else "no",
                some.model,
                results.plain[name],
            ]
        )
    table(["", "one bound", "of ten", "predicting", "needs the group", "random", "model", "plain"], rows)


def tell_settings() -> None:
    say("## What each is given")
    say()
    say(f"The ten bounds are {', '.join(f'{epsilon:g}' for epsilon in EPSILONS)}.")
    say()
    for method in METHODS.values():
        say(f"- **{method.title}**: {method.given}.")
    say()
    say(
        "Accuracy at a discrimination is read off the mean over the splits of each setting's discrimination, with its "
        "sign, and accuracy: the best that a setting, or a mixture of two, reaches. A method counts as reaching a "
        "discrimination if a setting is within two standard errors of it. Where none is, the mixture is with deciding "
        "alike for all, and that is marked †."
    )


def list_curves(results: Results) -> str:
    """Every setting's means, as comma-separated values."""
    file = io.StringIO()
    rows = csv.writer(file, lineterminator="\n")
    rows.writerow(["data", "features", "method", "setting", "bound", "splits", "discrimination", *METRICS])
    for (case, features), of_method in results.curves.items():
        for name, curve in of_method.items():
            gap = curve.gaps(RATES)[..., 0].mean(axis=0)
            values = [curve.metric(metric).mean(axis=0) for metric in METRICS]
            for place, (setting, bound) in enumerate(zip(curve.settings, curve.bounds, strict=True)):
                bound_shown = "" if bound is None else f"{bound:g}"
                means = [f"{value[place]:.4f}" for value in (gap, *values)]
                rows.writerow([case, features, METHODS[name].title, setting, bound_shown, curve.n_splits, *means])
    return file.getvalue()


def write_page(folder: Path, cases: list[str], most_seeds: int | None, n_seeds: int, out: Path | None) -> None:
    """Of the answers in the folder; pictures and curves go into a folder beside the page."""
    results = Results.read(folder, cases, most_seeds)
    pictures = (out or folder / "peers.md").with_suffix("")
    pictures.mkdir(parents=True, exist_ok=True)
    introduce(n_seeds)
    judge(results)
    for case in cases:
        compare(results, case, pictures)
    compare_errors(results)
    tell_bounds(results)
    tell_times(results)
    tell_settings()
    write_whole(pictures / "curves.csv", list_curves(results))
    save(out)
