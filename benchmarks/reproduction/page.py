"""The page that says what the runs show."""

from collections.abc import Iterator
from typing import Any

from reproduction import protocol
from reproduction.figures import FIGURES
from reproduction.findings import NO, UNDECIDED, WITHIN, Goal, compare, describe_difference, difference, goals
from reproduction.printed import PRINTED
from reproduction.summary import Runs, mean_of_seeds
from reproduction.tables import PaperTable

INTRODUCTION = """\
*EiFFFeL: Enforcing Fairness in Forests by Flipping Leaves* (SAC 2022) prints four tables and three figures. Here they
are made again: each method on a test split of 20%, mean over seeds.

- EiFFFeL-LF flips one leaf of a plain random forest at a time, EiFFFeL-TF all candidate leaves of a tree; LF* and TF*
  do so on forests grown with discrimination-aware splits. Discrimination is the rate of favourable decisions in the
  privileged group minus that in the other.
- `training rows` is the paper's own protocol: leaves are scored and the step is chosen on the rows that the forest was
  trained on, by the rule `paper`. `held-out rows` is eifffel's default: the forest is trained on three quarters of
  those rows, and the step is the first that meets the bound on the last quarter.
- DFRF keeps only trees whose discrimination on the training rows is below epsilon. It is grown without the sensitive
  column, so its numbers are the same whether or not that is among the features of the others.
- EOP is calibrated equalized odds with weighted cost, the default of the code that the paper links to, and
  EqualizedOdds what its words describe; both are measured by their expected rates. Chosen on rows that the forest
  knows by heart, EqualizedOdds finds nothing to equalise, and decisions stay those of the plain forest.
  GroupThresholds is a yardstick. These three must know the group of everybody they decide on; the others need not.
- Losses are against the plain forest trained on the same rows. Splits keep the share of each group and label. What was
  done to the data is in `DESCR` of `eifffel.datasets.fetch_adult()`, `fetch_bank()` and `fetch_compas()`.
"""
TRIAL = """\
**A trial: {trees} trees, where the experiment has {full}.**
"""
ONE_SEED = """\
**One seed has no standard error: where it is the only one, this page concludes nothing.**
"""
LEFT_OUT = """\
Runs left out, because the one with or without the sensitive column is missing: {n}.
"""
FORESTS = """\
The paper gives neither the number of trees nor their depth. These settings come near its plain forest. Distance
is that from the printed accuracy plus that from the printed discrimination.
"""
BANK = """\
On Bank the labels favour clients under 25, so they are the privileged group here and discrimination is their rate minus
that of the others. Its feature `duration` leaks the outcome; the paper keeps it, and so does this run. Its forest
weighs classes, so balanced accuracy stands beside the accuracy that the paper prints.
"""
AGREES = """\
A printed number is one run, rounded to two decimals. It *agrees* if it lies within two standard deviations of a run of
ours, the error of our mean and the rounding added. So it agrees the more easily the more runs scatter, as they do on
Bank, where few people are in the privileged group, and on COMPAS, which is small: *agrees* means *could be*. The plain
forest is left out, since its setting was chosen to agree.
"""
ABOUT_GOALS = """\
EiFFFeL-LF, chosen on held-out rows, sensitive column among the features, on test rows. Discrimination should be at most
epsilon + 0.01, or within two standard errors of that; the loss of accuracy at most half of the printed one (printed
plain forest minus printed EiFFFeL-LF), where that is 2 points or more; and accuracy (balanced, on Bank) within 0.5
points of GroupThresholds at the same epsilon, or within two standard errors of the paired difference.
"""
SINGLE_SPLITS = """\
These are means. In single splits sampling error comes on top: in how many the absolute discrimination on the test rows
was above epsilon, and its mean:
"""
ABOUT_RATES = """\
Share of each group that is decided favourably on the test rows, mean over seeds; epsilon = {epsilon:g}, chosen on
held-out rows. A bound can be met by raising one group or by lowering the other, and this shows which.
"""
ABOUT_CHOICES = """\
Differences between two settings at the same epsilon on the same splits, mean over the four epsilons, with the standard
error over seeds. A difference below two standard errors is not told apart from none; and since splits of one data set
share rows, the errors are, if anything, too small. *Excess* is by how much the absolute discrimination on
the test rows is above epsilon, 0 where it is not. On Bank, where the forest weighs classes, balanced accuracy is what
it is trained for; DFRF does not weigh them.
"""
ABOUT_TABLES = """\
*Bounds met* is in how many of the runs a method with bounds met them on the rows that it chose on. With alpha it stops
where accuracy has dropped by that much, and then epsilon is mostly not met.
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


def page_lines(runs: Runs, tables: list[PaperTable]) -> Iterator[str]:
    """The page, line by line."""
    frame = runs.frame
    trees = frame["trees"].iloc[0]
    counts = ", ".join(f"{protocol.EXPERIMENTS[name].title} {n}" for name, n in runs.n_seeds.items())
    yield "# The paper's experiments, run again"
    yield ""
    yield INTRODUCTION
    yield (
        f"Made by `make reproduce` with {trees} trees; seeds: {counts}; {frame['made_with'].iloc[0]}. Every "
        "measured number here comes from [runs.csv](runs.csv)."
    )
    yield ""
    if runs.n_left_out:
        yield LEFT_OUT.format(n=runs.n_left_out)
    if trees != protocol.N_TREES:
        yield TRIAL.format(trees=trees, full=protocol.N_TREES)
    if min(runs.n_seeds.values()) == 1:
        yield ONE_SEED
    sections = {
        "In short": _in_short,
        "The forests": _forests,
        "Where this agrees with the paper, and where not": _agreement,
        "What leaf flipping should do on people it has not seen": _goals,
        "What the choices are worth": _choices,
        "Whose decisions change": _rates,
    }
    for title, section in sections.items():
        yield f"## {title}"
        yield ""
        yield from section(runs)
        yield ""
    for features, words in protocol.FEATURES.items():
        yield f"## Figures: {words}"
        yield ""
        for figure in FIGURES:
            yield f"![{figure.title}](figures/{figure.name}_{features}.png)"
            yield ""
    yield "## Tables"
    yield ""
    yield ABOUT_TABLES
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
            loss, discrimination = mean_of_seeds(rows["accuracy_loss"]), mean_of_seeds(rows["discrimination"])
            found.append(f"{titles[name]} {_number(discrimination.mean)} for {100 * loss.mean:.1f} points of accuracy")
        yield f"- EiFFFeL-LF, epsilon {epsilon:g}, chosen {words}: discrimination on test rows {'; '.join(found)}."
    decided = [goal for goal in _every_goal(runs) if goal.verdict != UNDECIDED]
    if decided:
        missed = [goal for goal in decided if goal.verdict == NO]
        n_within = sum(goal.verdict == WITHIN for goal in decided)
        words = "; ".join(
            f"{titles[goal.data]} at epsilon {goal.epsilon:g}, {goal.what}: {_number(goal.found.mean, 4)}, at most "
            f"{goal.limit:.3f}"
            for goal in missed
        )
        yield (
            f"- {len(decided) - len(missed)} of {len(decided)} goals are met, {n_within} of them within two standard "
            f"errors only.{f' Missed: {words}.' if missed else ''}"
        )


def _number(value: float, digits: int = 3) -> str:
    """The number without the sign of a rounded 0."""
    return f"{round(value, digits) + 0.0:.{digits}f}"


def _every_goal(runs: Runs) -> list[Goal]:
    return [goal for name in runs.names for goal in goals(runs, name)]


def _forests(runs: Runs) -> Iterator[str]:
    yield FORESTS
    yield "| data | setting | accuracy | printed | discrimination | printed | distance |"
    yield "|---|---|---|---|---|---|---|"
    for name in runs.names:
        experiment = protocol.EXPERIMENTS[name]
        words = ", ".join(f"{key}={value}" for key, value in experiment.forest.items()) or "scikit-learn's defaults"
        rows = runs.pick(data=name, method=protocol.PLAIN, chosen_on=protocol.TRAINING)
        found = [mean_of_seeds(rows[measure]) for measure in ("accuracy", "discrimination")]
        printed = PRINTED[name][protocol.PLAIN][None]
        distance = sum(abs(one.mean - number) for one, number in zip(found, printed, strict=True))
        cells = " | ".join(f"{one.mean:.3f} | {number:.2f}" for one, number in zip(found, printed, strict=True))
        yield f"| {experiment.title} | {words} | {cells} | {distance:.3f} |"
    if "bank" in runs.names:
        yield ""
        yield BANK


def _agreement(runs: Runs) -> Iterator[str]:
    yield AGREES
    for name in runs.names:
        title = protocol.EXPERIMENTS[name].title
        if runs.n_seeds[name] == 1:
            yield f"**{title}.** One seed: no conclusion."
            yield ""
            continue
        comparisons = list(compare(runs, name))
        agreeing = sum(bool(one.agrees) for one in comparisons)
        yield f"**{title}.** {agreeing} of {len(comparisons)} printed numbers agree."
        yield ""
        for method in dict.fromkeys(one.method for one in comparisons):
            of_method = [one for one in comparisons if one.method == method]
            off = [one for one in of_method if not one.agrees]
            if not off:
                yield f"- {method}: all {len(of_method)} agree."
                continue
            worst = max(off, key=lambda one: abs(one.found.mean - one.printed))
            where = f" at {worst.bound}" if worst.bound else ""
            yield (
                f"- {method}: {len(of_method) - len(off)} of {len(of_method)} agree; farthest off is "
                f"{worst.measure}{where}, {worst.found.mean:.3f} ± {worst.found.error:.3f} (standard error) against "
                f"{worst.printed:.2f}."
            )
        yield ""


def _goals(runs: Runs) -> Iterator[str]:
    yield ABOUT_GOALS
    yield "| data | epsilon | goal | measured | at most | met |"
    yield "|---|---|---|---|---|---|"
    for goal in _every_goal(runs):
        error = "" if goal.found.n == 1 else f" ± {goal.found.error:.4f}"
        where = f"{protocol.EXPERIMENTS[goal.data].title} | {goal.epsilon:g}"
        yield f"| {where} | {goal.what} | {_number(goal.found.mean, 4)}{error} | {goal.limit:.3f} | {goal.verdict} |"
    yield ""
    yield SINGLE_SPLITS
    yield "| data | epsilon | LF, training rows | LF, held-out rows | GroupThresholds |"
    yield "|---|---|---|---|---|"
    for name in runs.names:
        for epsilon in protocol.EPSILONS:
            cells = []
            for method, chosen_on in (
                (protocol.LF, protocol.TRAINING),
                (protocol.LF, protocol.HELD_OUT),
                (protocol.THRESHOLDS, protocol.HELD_OUT),
            ):
                rows = runs.pick(data=name, method=method, chosen_on=chosen_on, epsilon=epsilon)
                beyond = int((rows["excess"] > 0).sum())
                cells.append(f"{beyond} of {len(rows)}; {rows['discrimination'].abs().mean():.3f}")
            yield f"| {protocol.EXPERIMENTS[name].title} | {epsilon:g} | {' | '.join(cells)} |"


def _rates(runs: Runs) -> Iterator[str]:
    epsilon = min(protocol.EPSILONS)
    yield ABOUT_RATES.format(epsilon=epsilon)
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
    yield ABOUT_CHOICES
    yield "| choice | data | accuracy | balanced accuracy | excess |"
    yield "|---|---|---|---|---|"
    for words, one, other in CHOICES:
        for name in runs.names:
            cells = [
                describe_difference(difference(runs, measure, {"data": name} | one, {"data": name} | other), *ways)
                for measure, ways in (
                    ("accuracy", ("higher", "lower")),
                    ("balanced_accuracy", ("higher", "lower")),
                    ("excess", ("larger", "smaller")),
                )
            ]
            yield f"| {words} | {protocol.EXPERIMENTS[name].title} | {' | '.join(cells)} |"
