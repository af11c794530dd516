"""The page: what was run, who is ahead where, and what each method gives and takes."""

from pathlib import Path

import numpy as np
from exchange import EPSILONS
from measures import LEVELS, Measured, jackknife
from methods import BY_RATES, METHODS, N_SEEDS, RATES, REQUIREMENTS, Contest
from pictures import draw
from results import Results, Where
from splits import CASES, N_DRAWN
from verdict import (
    BOOSTED,
    CLOSE,
    FEWEST,
    OURS,
    OURS_BOOSTED,
    SHARE,
    Beside,
    beside_all,
    furthest,
    peers,
    settings_ahead,
    shares_of_reduction,
    time_per_bound,
)

from eifffel._utils.writing import write_whole
from page import VERSIONS, save, say, table
from reproduction.protocol import FEATURES, N_TREES


def title_of(where: Where) -> str:
    case, features = where
    return f"{CASES[case].title}, {features}"


def shown(value: float, error: float, digits: int = 2) -> str:
    return f"{value:.{digits}f}" + ("" if np.isnan(error) else f" ± {error:.{digits}f}")


def cell(measured: Measured, level: float) -> str:
    """The metric at this discrimination, or at the least that is reached."""
    reached = measured.reaches(level)
    at = level if reached else measured.lowest
    value, error = jackknife(lambda splits: 100 * measured.at(at, splits), measured.curve.n_splits)
    return shown(value, error) + ("" if reached else f" (at {at:.3f})")


def versions() -> str:
    """Of the peers, as they are pinned."""
    found = []
    for file in sorted(REQUIREMENTS.glob("*.txt")):
        pins = dict(line.split("==") for line in file.read_text().split() if "==" in line)
        found.append(f"{file.stem} {pins[file.stem]}")
    return ", ".join(found)


def say_quick(contest: Contest) -> None:
    if contest.most_seeds is not None:
        cases = ", ".join(CASES[case].title for case in contest.cases)
        say(f"This is a quick run: {contest.most_seeds} splits of {cases}.")
        say()


def introduce() -> None:
    say("# eifffel beside what people would use instead")
    say()
    say("Made by `make benchmark-peers` (`python benchmarks/peers/run.py`).")
    say(f"{VERSIONS}; {versions()}, each in an environment of its own, pinned in `requirements/peers`.")
    say()
    say(
        f"The data, splits and forests of the reproduction ({N_TREES} trees), and {N_DRAWN:,} people of the synthetic "
        "generator, others for each split. Adult is run with leaves of 20 rows as well: trees that are grown out know "
        "their training rows by heart, and what trains under a bound then meets it on those rows alone. Of all rows "
        "60% train the base forest, 20% are held out for whatever comes after training, and 20% are the test rows that "
        "every number here is of. What trains a model of its own instead gets the 80%. On Bank, where forests weigh "
        "classes, accuracy is balanced accuracy, and each peer gets that objective where it can. *With* and *without*: "
        "whether the sensitive column is among the features; a peer that needs the group is told it either way. Those "
        "that bound error rates are compared by these on [a page of their own](peers_errors.md)."
    )
    say()


def judge(results: Results) -> None:
    """The bars, and where they are missed."""
    blind = list(beside_all(results, needs_group=False))
    aware = list(beside_all(results, needs_group=True))
    lost = [one for one in blind if one.is_loss]
    far = furthest([one for one in aware if not one.is_close])
    ahead = settings_ahead(results)
    shares = shares_of_reduction(results)
    plain = [
        name for name in peers(needs_group=False) + peers(needs_group=True) if results.plain[name].startswith("yes")
    ]
    faster = [name for name in plain if time_per_bound(results, name) < time_per_bound(results, OURS[RATES])]
    say("## Bars")
    say()
    say(
        "eifffel is here what a user of it would end with who tries its three strategies on the forest "
        f"(*{METHODS[OURS[RATES]].title}*); beside {METHODS[BOOSTED[0]].title} it is "
        f"*{METHODS[OURS_BOOSTED[RATES]].title}*. Differences are paired, of means over the splits at equal "
        f"discrimination (0.01, 0.05 and 0.10, or the least that the peer reaches), with a standard error by leaving "
        f"out one split at a time. Nothing is said here of what was run on fewer than {FEWEST} splits, nor of what "
        f"discriminates more than {max(EPSILONS):g}, the largest bound asked for."
    )
    say()
    table(
        ["", ""],
        [
            [
                "behind no peer that does not need the group, beyond two standard errors",
                met(not lost, f"behind in {len(lost)} of {len(blind)} comparisons")
                + "; beside single settings of theirs, at the discrimination these have: "
                + ", ".join(f"{METHODS[name].title} {n} of {total}" for name, (n, total) in ahead.items()),
            ],
            [
                f"within {CLOSE} points or two standard errors of every peer that needs the group",
                met(not far, f"further behind in {len(far)} of {len(furthest(aware))} cases and levels"),
            ],
            [
                f"the base forest, its three paths and a bound take at most {SHARE} of ExponentiatedGradient's time",
                met(max(shares.values()) <= SHARE, f"{min(shares.values()):.3f} to {max(shares.values()):.3f}"),
            ],
            [
                "no peer that gives a plain model is faster per bound for ten bounds",
                met(not faster, ", ".join(METHODS[name].title for name in plain))
                if plain
                else "no peer gives a plain model, so that there is nothing to compare",
            ],
        ],
    )
    say("## Where eifffel is behind")
    say()
    if lost:
        say("Peers that do not need the group:")
        say()
        lose(lost)
    if far:
        say("Of the peers that need the group, the one furthest ahead:")
        say()
        lose(far)
    if lost or far:
        explain()


def explain() -> None:
    say("Likely causes:")
    say()
    say(
        "- Where the sensitive column is not among the features, a peer that needs the group knows what no leaf can "
        "know. What lies between is what knowing the group is worth."
    )
    say(
        "- ExponentiatedGradient, fair-trees and FairGBM train on all rows that are not test rows. The models that "
        "eifffel edits have seen three quarters of them, for the others choose its steps. ExponentiatedGradient also "
        "trains some 25 forests for each bound, and draws one of them for each decision."
    )
    say(
        "- Of comparisons between methods that do not differ, one in forty is beyond two standard errors by chance, "
        "and with five splits, whose standard errors are rough, one in twenty."
    )
    say()


def met(kept: bool, found: str) -> str:
    return f"{'met' if kept else 'MISSED'}: {found}"


def lose(found: list[Beside]) -> None:
    table(
        ["", "discrimination", "peer", "points behind"],
        [
            [title_of(one.where), f"{one.level:.2f}", METHODS[one.peer].title, shown(one.points, one.error)]
            for one in found
        ],
    )


def by_rates() -> list[str]:
    """Ours, then peers that do not need the group, then those that do."""
    ours = [name for name, method in METHODS.items() if method.is_ours and not method.again]
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
    for name in by_rates():
        cells = []
        for of_case in where:
            curve = results.curves[of_case][name]
            measured = Measured(curve, metric)
            cells += [cell(measured, level) for level in LEVELS]
        needs = "group" if METHODS[name].needs_group else ""
        rows.append([METHODS[name].title, needs, str(results.curves[where[0]][name].n_splits), *cells])
    head = [f"{features} {level:.2f}" for features in FEATURES for level in LEVELS]
    table(["", "needs", "splits", *head], rows)
    for of_case in where:
        base = results.base[of_case]
        gap, value = Measured(base, metric).points(np.arange(base.n_splits))
        say(f"The base forest {of_case[1]} the column: {100 * value[0]:.2f} at {gap[0]:.3f}.")
    say()


def tell_bounds(results: Results) -> None:
    say("## Bound asked for, discrimination got")
    say()
    say(
        f"Mean size of the difference of rates that single splits have (the first {N_SEEDS} of each case), and in "
        "brackets how far that is from the bound in the mean. On one split chance alone makes a difference of some "
        "hundredths."
    )
    say()
    rows = []
    for name in by_rates():
        if METHODS[name].bounds != RATES:
            continue
        cells = []
        for features in FEATURES:
            curves = [of_method[name] for where, of_method in results.curves.items() if where[1] == features]
            for bound in LEVELS:
                got = [
                    np.abs(curve.gaps(RATES)[:N_SEEDS, curve.bounds.index(bound), 0])
                    for curve in curves
                    if bound in curve.bounds
                ]
                joined = np.concatenate(got) if got else np.empty(0)
                cells.append(f"{joined.mean():.3f} ({np.abs(joined - bound).mean():.3f})" if got else "")
        rows.append([METHODS[name].title, *cells])
    table(["", *(f"{features} {bound:.2f}" for features in FEATURES for bound in LEVELS)], rows)


def tell_times(results: Results) -> None:
    say("## Time, and what comes out")
    say()
    say(
        "Seconds of one core as ratios to the base forest's: *one bound* is what comes after its training, or instead "
        "of it where a method trains by itself; *of ten* is what one of ten bounds takes (for a method that cannot be "
        "bounded, one of its settings); *predicting* is for the test rows. Means over the cases, and rough, for two "
        "methods run at once. Compiling eifffel's kernels, some seconds the first time on a machine, is not counted. "
        "*Asks for the group*: beyond the features, where the sensitive column may be. *Plain*: whether the stored "
        "model decides the same where only numpy, scikit-learn and LightGBM are installed, tried on COMPAS."
    )
    say()
    rows = []
    for name in by_rates():
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
    hours = sum(curve.seconds for of_method in results.curves.values() for curve in of_method.values()) / 3600
    say(f"All of the methods' own work together, without the base forests, took {hours:.1f} hours of one core.")
    say()
    table(["", "one bound", "of ten", "predicting", "asks for the group", "random", "model", "plain"], rows)


def tell_settings() -> None:
    say("## What each is given")
    say()
    say(f"The ten bounds are {', '.join(f'{epsilon:g}' for epsilon in EPSILONS)}.")
    say()
    for method in BY_RATES.values():
        say(f"- **{method.title}**: {method.given}.")
    say()
    say(
        "Accuracy at a discrimination is read off the mean over the splits of each setting's difference of rates, with "
        "its sign, and accuracy: the best that a setting, deciding alike for all, or a mixture of two reaches. What is "
        "within two standard errors of a discrimination counts as reaching it; where no setting is, accuracy is given "
        "at the least discrimination that one has."
    )


def write_page(folder: Path, contest: Contest, out: Path | None) -> None:
    """Of the answers in the folder; pictures and curves go into a folder beside the page."""
    results = Results.read(folder, contest)
    pictures = (out or folder / "peers.md").with_suffix("")
    pictures.mkdir(parents=True, exist_ok=True)
    introduce()
    say_quick(contest)
    judge(results)
    for case in contest.cases:
        compare(results, case, pictures)
    tell_bounds(results)
    tell_times(results)
    tell_settings()
    write_whole(pictures / "curves.csv", results.to_csv())
    save(out)
