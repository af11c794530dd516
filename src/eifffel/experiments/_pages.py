"""Everything made of the runs, written: a page that says what they show, tables and figures."""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from eifffel._optional import import_optional
from eifffel._writing import write_whole
from eifffel.experiments import _protocol as protocol
from eifffel.experiments._figures import FIGURES, draw
from eifffel.experiments._findings import compare, difference, goals, say
from eifffel.experiments._printed import PRINTED
from eifffel.experiments._summary import Runs, estimate
from eifffel.experiments._tables import WORDS, Table, make_tables

PAGE = "README.md"
INTRODUCTION = """\
*EiFFFeL: Enforcing Fairness in Forests by Flipping Leaves* (SAC 2022) prints four tables and three figures. Here they
are made again: each method on a test split of 20%, mean over seeds. `training rows` is the paper's own protocol, in
which leaves are scored and the step is chosen on the rows that the forest was trained on, by the rule `paper`.
`held-out rows` is eifffel's default: the forest is trained on three quarters of those rows, and the step is the first
that meets the bound on the last quarter. Losses are against the plain forest trained on the same rows. EOP is
equalized odds, measured by its expected rates; GroupThresholds, which must know the group of everybody it decides on,
is a yardstick. Splits keep the share of each group and label. What was done to the data: `DESCR` of
`eifffel.datasets.fetch_adult()`, `fetch_bank()` and `fetch_compas()`.
"""
AGREES = """\
A printed number is one run, rounded to two decimals. It *agrees* if it lies within two standard deviations of a run of
ours, the error of our mean and the rounding added."""
FORESTS = """\
The paper gives neither the number of trees nor their depth. One setting per data set comes near its plain forest:
"""
BANK = """\
On Bank the labels favour clients under 25, so they are the privileged group here and discrimination is their rate minus
that of the others. Its feature `duration` leaks the outcome; the paper keeps it, and so does this run. Its forest
weighs classes, so balanced accuracy stands beside the accuracy that the paper prints."""
GOALS = """\
Discrimination should be at most epsilon + 0.01, or within two standard errors of that; the loss of accuracy at most
half of what the paper prints, where that is 2 points or more; and accuracy (balanced, on Bank) within 0.5 points of
GroupThresholds at the same epsilon, or within two standard errors of the paired difference.
"""
RATES = """\
Share of each group that is decided favourably on the test rows, mean over seeds; epsilon = {epsilon:g}, chosen on
held-out rows. A bound can be met by raising one group or by lowering the other, and this shows which.
"""
CHOICES_ARE = """\
Differences between two settings at the same epsilon on the same splits, mean over the four epsilons, with the standard
error over seeds; a difference below two standard errors is none. *Excess* is by how much the absolute discrimination on
the test rows is above epsilon, 0 where it is not. Accuracy is balanced on Bank; DFRF does not weigh classes, so there
it has more accuracy and less balanced accuracy than the others.
"""
LF_HELD_OUT = {"method": protocol.LF, "chosen_on": protocol.HELD_OUT}
LF_TRAINING = {"method": protocol.LF, "chosen_on": protocol.TRAINING}
TF_HELD_OUT = {"method": "EiFFFeL-TF", "chosen_on": protocol.HELD_OUT}
CHOICES = (
    ("LF chosen on held-out rows, against training rows", LF_HELD_OUT, LF_TRAINING),
    ("LF against TF, held-out rows", LF_HELD_OUT, TF_HELD_OUT),
    ("LF* against LF, held-out rows", LF_HELD_OUT | {"method": "EiFFFeL-LF*"}, LF_HELD_OUT),
    ("TF* against TF, held-out rows", TF_HELD_OUT | {"method": "EiFFFeL-TF*"}, TF_HELD_OUT),
    ("LF against DFRF, training rows", LF_TRAINING, LF_TRAINING | {"method": protocol.DFRF}),
    (
        "LF with the sensitive column among the features, against without, held-out rows",
        LF_HELD_OUT,
        LF_HELD_OUT | {"features": protocol.WITHOUT},
    ),
)


def write_pages(frame: Any, folder: Path) -> None:
    """Write the page, ``tables/`` and ``figures/`` from the rows of ``runs.csv``."""
    runs = Runs(frame)
    write_figures(runs, folder)
    write_texts(runs, folder)


def write_texts(runs: Runs, folder: Path) -> None:
    """Write the tables, and the page that shows them."""
    tables = list(make_tables(runs))
    (folder / "tables").mkdir(exist_ok=True)
    for table in tables:
        texts = {"md": f"{table.title}\n\n{table.to_markdown()}", "csv": table.to_csv(), "tex": table.to_latex()}
        for ending, text in texts.items():
            write_whole(folder / "tables" / f"{table.name}.{ending}", text)
    write_whole(folder / PAGE, "\n".join(page_lines(runs, tables)) + "\n")


def write_figures(runs: Runs, folder: Path) -> None:
    """Draw the figures."""
    (folder / "figures").mkdir(exist_ok=True)
    for features in protocol.FEATURES:
        for figure in FIGURES:
            canvas = draw(runs, figure, features)
            for ending in ("png", "svg"):
                write_whole(folder / "figures" / f"{figure.name}_{features}.{ending}", _render(canvas, ending))


def _render(canvas: Any, ending: str) -> bytes:
    matplotlib = import_optional("matplotlib", "figures need")
    content = io.BytesIO()
    # The same runs give the same bytes.
    with matplotlib.rc_context({"svg.hashsalt": "eifffel", "svg.fonttype": "none"}):
        canvas.savefig(content, format=ending, dpi=120, metadata={"Date": None} if ending == "svg" else None)
    return content.getvalue()


def page_lines(runs: Runs, tables: list[Table]) -> Iterator[str]:
    """The page, line by line."""
    frame = runs.frame
    seeds = {name: frame.loc[frame["data"] == name, "seed"].nunique() for name in runs.names}
    one_seed = min(seeds.values()) == 1
    yield "# The paper's experiments, run again"
    yield ""
    yield INTRODUCTION
    counts = ", ".join(f"{protocol.EXPERIMENTS[name].title} {n}" for name, n in seeds.items())
    yield (
        f"Made by `eifffel reproduce` with {frame['trees'].iloc[0]} trees; seeds: {counts}; "
        f"{frame['made_with'].iloc[0]}. Every number here comes from [runs.csv](runs.csv)."
    )
    yield ""
    if one_seed:
        yield "**One seed has no standard error: where it is the only one, this page concludes nothing.**"
        yield ""
    yield "## In short"
    yield ""
    yield from _in_short(runs)
    yield ""
    yield "## The forests"
    yield ""
    yield from _forests(runs)
    yield ""
    yield "## Where this agrees with the paper, and where not"
    yield ""
    yield AGREES
    yield ""
    for name in runs.names:
        yield from _agreement(runs, name)
        yield ""
    yield "## What leaf flipping should do on people it has not seen"
    yield ""
    yield from _goals(runs)
    yield ""
    yield "## What the choices are worth"
    yield ""
    yield from _choices(runs)
    yield ""
    yield "## Whose decisions change"
    yield ""
    yield from _rates(runs)
    yield ""
    for features in protocol.FEATURES:
        yield f"## Figures: {WORDS[features]}"
        yield ""
        for figure in FIGURES:
            yield f"![{figure.title}](figures/{figure.name}_{features}.png)"
            yield ""
    yield "## Tables"
    yield ""
    for table in tables:
        yield f"### {table.title}"
        yield ""
        yield f"Also as [CSV](tables/{table.name}.csv), which has all measures, and [LaTeX](tables/{table.name}.tex)."
        yield ""
        yield table.to_markdown()


def _in_short(runs: Runs) -> Iterator[str]:
    titles = {name: protocol.EXPERIMENTS[name].title for name in runs.names}
    compared = {name: list(compare(runs, name)) for name in runs.names}
    if all(one.found.n > 1 for each in compared.values() for one in each):
        agreeing = {name: sum(bool(one.agrees) for one in each) for name, each in compared.items()}
        parts = ", ".join(f"{titles[name]} {agreeing[name]} of {len(compared[name])}" for name in runs.names)
        total = sum(len(comparisons) for comparisons in compared.values())
        yield f"- {sum(agreeing.values())} of {total} printed numbers agree with runs made as the paper says: {parts}."
    epsilon = min(protocol.EPSILONS)
    for words, chosen_on in (
        ("as in the paper, on training rows", protocol.TRAINING),
        ("on held-out rows", protocol.HELD_OUT),
    ):
        found = []
        for name in runs.names:
            rows = runs.pick(data=name, method=protocol.LF, chosen_on=chosen_on, epsilon=epsilon)
            loss, discrimination = estimate(rows["accuracy_loss"]), estimate(rows["discrimination"])
            found.append(f"{titles[name]} {discrimination.mean:.3f} for {100 * loss.mean:.1f} points of accuracy")
        yield f"- EiFFFeL-LF, epsilon {epsilon:g}, chosen {words}: discrimination on test rows {'; '.join(found)}."
    every = [goal for name in runs.names for goal in goals(runs, name)]
    missed = "; ".join(
        f"{titles[goal.data]} at epsilon {goal.epsilon:g}, {goal.what}: {goal.found.mean:.4f}, at most {goal.limit:.3f}"
        for goal in every
        if not goal.met
    )
    n_met = sum(goal.met for goal in every)
    yield f"- {n_met} of {len(every)} goals for people not seen are met." + (f" Missed: {missed}." if missed else "")


def _forests(runs: Runs) -> Iterator[str]:
    yield FORESTS
    yield "| data | setting | accuracy | printed | discrimination | printed | distance |"
    yield "|---|---|---|---|---|---|---|"
    for name in runs.names:
        experiment = protocol.EXPERIMENTS[name]
        words = ", ".join(f"{key}={value}" for key, value in experiment.forest.items()) or "scikit-learn's defaults"
        rows = runs.pick(data=name, method=protocol.PLAIN, chosen_on=protocol.TRAINING)
        found = [estimate(rows[measure]) for measure in ("accuracy", "discrimination")]
        printed = PRINTED[name][protocol.PLAIN][None]
        distance = sum(abs(one.mean - number) for one, number in zip(found, printed, strict=True))
        cells = " | ".join(f"{one.mean:.3f} | {number:.2f}" for one, number in zip(found, printed, strict=True))
        yield f"| {experiment.title} | {words} | {cells} | {distance:.3f} |"
    if "bank" in runs.names:
        yield ""
        yield BANK


def _agreement(runs: Runs, name: str) -> Iterator[str]:
    title = protocol.EXPERIMENTS[name].title
    comparisons = list(compare(runs, name))
    if comparisons[0].found.n == 1:
        yield f"**{title}.** One seed: no conclusion."
        return
    agreeing = sum(bool(one.agrees) for one in comparisons)
    yield f"**{title}.** {agreeing} of {len(comparisons)} printed numbers agree."
    yield ""
    for method in dict.fromkeys(one.method for one in comparisons):
        of_method = [one for one in comparisons if one.method == method]
        disagreeing = [one for one in of_method if not one.agrees]
        count = f"{len(of_method) - len(disagreeing)} of {len(of_method)}"
        if not disagreeing:
            yield f"- {method}: all {len(of_method)} agree."
            continue
        worst = max(disagreeing, key=lambda one: abs(one.found.mean - one.printed))
        where = f" at {worst.bound}" if worst.bound else ""
        yield (
            f"- {method}: {count} agree; farthest off is {worst.measure}{where}, "
            f"{worst.found.mean:.3f} ± {worst.found.error:.3f} (standard error) against {worst.printed:.2f}."
        )


def _goals(runs: Runs) -> Iterator[str]:
    every = [goal for name in runs.names for goal in goals(runs, name)]
    missed = [goal for goal in every if not goal.met]
    yield (
        f"EiFFFeL-LF chosen on held-out rows, sensitive column among the features: {len(every) - len(missed)} of "
        f"{len(every)} goals are met."
    )
    yield GOALS
    yield "| data | epsilon | goal | measured | at most | met |"
    yield "|---|---|---|---|---|---|"
    for goal in every:
        error = "" if goal.found.n == 1 else f" ± {goal.found.error:.4f}"
        title = protocol.EXPERIMENTS[goal.data].title
        yield (
            f"| {title} | {goal.epsilon:g} | {goal.what} | {goal.found.mean:.4f}{error} | {goal.limit:.3f} | "
            f"{'yes' if goal.met else '**no**'} |"
        )


def _rates(runs: Runs) -> Iterator[str]:
    epsilon = min(protocol.EPSILONS)
    yield RATES.format(epsilon=epsilon)
    yield "| data | sensitive column | group | plain forest | EiFFFeL-LF | GroupThresholds |"
    yield "|---|---|---|---|---|---|"
    for name in runs.names:
        for features, words in ((protocol.WITH, "among the features"), (protocol.WITHOUT, "removed")):
            chosen: dict[str, Any] = {"data": name, "features": features, "chosen_on": protocol.HELD_OUT}
            settings = [
                runs.pick(method=protocol.PLAIN, **chosen),
                *(runs.pick(method=method, epsilon=epsilon, **chosen) for method in (protocol.LF, protocol.THRESHOLDS)),
            ]
            for group in ("unprivileged", "privileged"):
                rates = " | ".join(f"{rows[f'{group}_rate'].mean():.3f}" for rows in settings)
                yield f"| {protocol.EXPERIMENTS[name].title} | {words} | {group} | {rates} |"


def _choices(runs: Runs) -> Iterator[str]:
    yield CHOICES_ARE
    yield "| choice | data | accuracy | excess |"
    yield "|---|---|---|---|"
    for words, one, other in CHOICES:
        for name in runs.names:
            objective = protocol.EXPERIMENTS[name].objective
            accuracy, beyond = (
                difference(runs, measure, {"data": name} | one, {"data": name} | other)
                for measure in (objective, "excess")
            )
            yield (
                f"| {words} | {protocol.EXPERIMENTS[name].title} | {say(accuracy, 'higher', 'lower')} | "
                f"{say(beyond, 'larger', 'smaller')} |"
            )
