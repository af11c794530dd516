"""The page of those that bound error rates, compared by these."""

from pathlib import Path

from exchange import EPSILONS
from measures import LEVELS, Measured
from methods import ERRORS, METHODS, Contest
from results import Results
from splits import CASES, ERROR_SEED
from verdict import CLOSE, OURS, OURS_BOOSTED, beside_all, furthest
from write_page import cell, lose, say_quick, title_of, versions

from page import VERSIONS, save, say, table
from reproduction.protocol import N_TREES

# By how many points eifffel may be behind FairGBM, beyond two standard errors.
FAR = 0.5
MOST_BEHIND = 6
FAIRGBM, FEWER = "fairgbm", "fairgbm-fewer"


def introduce() -> None:
    say("# eifffel beside what bounds error rates")
    say()
    say("Made by `make benchmark-peers` (`python benchmarks/peers/run.py --errors`).")
    say(f"{VERSIONS}; {versions()}, each in an environment of its own, pinned in `requirements/peers`.")
    say()
    say(
        "The data and forests of [the other page](peers.md), on splits that nothing was chosen on (seeds "
        f"{ERROR_SEED} and up). Discrimination is the larger difference of true and of false positive rates, and "
        f"eifffel bounds that by a shift of the forest, or of LightGBM of as many trees ({N_TREES}). FairGBM takes "
        "part twice: with all rows that are not test rows, and with the 60% of all rows that the models which eifffel "
        "edits were trained on; the other 20% choose eifffel's steps. What lies between the two is what those rows are "
        "worth."
    )
    say()


def judge(results: Results) -> None:
    say("## Bars")
    say()
    rows = []
    for peer in (FEWER, FAIRGBM):
        found = [one for one in beside_all(results, needs_group=False, by=ERRORS) if one.peer == peer]
        lost = [one for one in found if one.is_loss]
        far = [one for one in found if one.points > FAR + 2 * one.error]
        rows += [
            [
                f"behind {METHODS[peer].title} in at most {MOST_BEHIND} of 30 comparisons",
                f"{'met' if 30 * len(lost) <= MOST_BEHIND * len(found) else 'MISSED'}: {len(lost)} of {len(found)}",
            ],
            [
                f"nowhere behind it by more than {FAR} points and two standard errors",
                f"{'MISSED' if far else 'met'}: {len(far)} of {len(found)}",
            ],
        ]
    aware = list(beside_all(results, needs_group=True, by=ERRORS))
    distant = furthest([one for one in aware if not one.is_close])
    rows.append(
        [
            f"within {CLOSE} points or two standard errors of every peer that needs the group",
            f"{'MISSED' if distant else 'met'}: further behind in {len(distant)} of {len(furthest(aware))} cases and "
            "levels",
        ]
    )
    table(["", ""], rows)
    lost = [one for one in beside_all(results, needs_group=False, by=ERRORS) if one.is_loss]
    if lost or distant:
        say("Where eifffel is behind:")
        say()
        lose([*lost, *distant])
        say(
            "Error rates are of fewer people than rates, for each label has its own: of Bank's smaller group, 1.8% of "
            "all rows, some 40 favourable and 120 other ones are among those that choose the step, and half of these "
            "find the prices. What is chosen on so few differs on the test rows, whoever chooses."
        )
        say()


def compare(results: Results) -> None:
    say("## Case by case")
    say()
    say("Accuracy in percent at equal discrimination, on Bank balanced accuracy.")
    say()
    rows = []
    for where, of_method in results.curves.items():
        for name, curve in of_method.items():
            measured = Measured(curve, CASES[where[0]].objective, ERRORS)
            cells = [cell(measured, level) for level in LEVELS]
            rows.append([title_of(where), METHODS[name].title, str(curve.n_splits), *cells])
    table(["", "", "splits", *(f"{level:.2f}" for level in LEVELS)], rows)


def tell_settings(contest: Contest) -> None:
    say("## What each is given")
    say()
    say(f"The ten bounds are {', '.join(f'{epsilon:g}' for epsilon in EPSILONS)}.")
    say()
    for method in contest.methods.values():
        say(f"- **{method.title}**: {method.given}.")
    say()
    ours = [METHODS[choice[ERRORS]].title for choice in (OURS, OURS_BOOSTED)]
    say(f"FairGBM is compared with *{ours[1]}*, the others with *{ours[0]}*.")


def write_errors(folder: Path, contest: Contest, out: Path | None) -> None:
    """Of the answers in the folder."""
    results = Results.read(folder, contest)
    introduce()
    say_quick(contest)
    judge(results)
    compare(results)
    tell_settings(contest)
    save(out)
