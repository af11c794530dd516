"""How the curve of a shift is found: variants for equalized odds, compared by a rule that was written down beforehand.

    python benchmarks/shift_curve.py [--quick] [--runs FOLDER] [--out FILE.md]

The rule is in docs/development/decisions.md, "Flips, shifts and their order". A run that is in the folder is not made
again. The paper's data are read from the folder that EIFFFEL_DATA names.
"""

import argparse
import json
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np

from eifffel import trace_path
from eifffel._utils.writing import write_whole
from eifffel.strategies import STRATEGIES, ShiftOrder, Strategy
from eifffel.strategies._directions import Pricing
from eifffel.strategies._prices import SWEEP, PricedRows, find_knots
from eifffel.strategies._shift import fit_curve
from page import VERSIONS, save, say, table
from reproduction.protocol import FEATURES
from reproduction.runs import RunSplit, grow_plain, split_people

sys.path.append(str(Path(__file__).parent / "peers"))
from exchange import EPSILONS
from measures import LEVELS, Curve, Measured, best_mixture
from methods import ERRORS
from splits import CASES, SYNTHETIC, draw, load

N_TREES = 100
FIRST_SEED = 150
N_SEEDS = {"adult": 5, SYNTHETIC: 5, "bank": 10, "compas": 10}
FOREST, BOOSTED = "forest", "LightGBM"
ODDS = "equalized_odds"

# What leaves are fitted to.
BOTH, SEARCHED, VOTES = "both", "searched part alone", "both, out-of-bag votes"
# How much of what is counted is believed: of so many rows, or errors, half of it.
HALF_AT_ROWS, HALF_AT_ERROR = 100, 0.03


def believe_rows(people: PricedRows) -> float:
    rows = people.constraint.count_sides(people.rows.count_cells())[people.differences.sides].min()
    return float(rows / (rows + HALF_AT_ROWS))


def believe_errors(people: PricedRows) -> np.ndarray:
    return HALF_AT_ERROR**2 / (HALF_AT_ERROR**2 + people.errors**2)


FEEDBACK: dict[str, Callable[[PricedRows], Any]] = {
    "none": lambda people: 0.0,
    "shrunk by rows": believe_rows,
    "shrunk by errors": believe_errors,
    "whole": lambda people: 1.0,
}


@dataclass(frozen=True)
class Variant:
    """One way to find the curve."""

    fitted_to: str
    feedback: str
    sweep: bool

    @property
    def title(self) -> str:
        return f"{self.fitted_to}; {self.feedback}; {'sweep' if self.sweep else 'none'}"

    def order(self, view: Any, *given: Any, draw: Any, draw_selection_sample: Any, **options: Any) -> ShiftOrder:
        """A strategy; see `eifffel.strategies.Strategy`."""
        placed, searched, constraint = draw(), draw_selection_sample(), given[-1]
        if self.fitted_to == VOTES:
            know_votes(view, placed)
        pricing = Pricing.of(
            view, placed, searched, constraint, options["n_jobs"], with_scoring_rows=self.fitted_to != SEARCHED
        )

        return fit_curve(view, pricing, self.find)

    def find(self, people: PricedRows) -> np.ndarray:
        """The knots of the curve."""
        return find_knots(people, trust=FEEDBACK[self.feedback](people), sweep=SWEEP if self.sweep else 0.0)


def know_votes(view: Any, placed: Any) -> None:
    """Let the view say of the rows that a forest was trained on what the trees vote that have not seen them."""
    favorable, score, n_votes = view.leaf_value[:, 1], np.zeros(len(placed)), np.zeros(len(placed))
    for t, seen in enumerate(view.model.estimators_samples_):
        out = np.ones(len(placed), bool)
        out[seen] = False
        score[out] += favorable[view.leaf_offset[t] + placed.index[t, out].astype(np.int64)]
        n_votes[out] += 1
    votes = np.where(n_votes > 0, score / np.maximum(n_votes, 1), 0.5) - view.threshold
    own = view.row_scores

    def row_scores(index: np.ndarray, **options: Any) -> np.ndarray:
        scores: np.ndarray = own(index, **options)
        if len(scores) > len(votes):  # of both, the scoring rows first
            scores[: len(votes)] = votes
        return scores

    view.row_scores = row_scores


def variants(model: str) -> Iterator[Variant]:
    for fitted_to in (BOTH, SEARCHED, *([VOTES] if model == FOREST else [])):
        for feedback in FEEDBACK:
            for sweep in (False, True):
                yield Variant(fitted_to, feedback, sweep)


def train(model: str, case: str, split: RunSplit, seed: int) -> Any:
    rows = split.fitted_on
    if model == FOREST:
        return grow_plain(CASES[case], split, rows, n_estimators=N_TREES, random_state=seed, n_jobs=1)
    share = np.bincount(split.y[rows], minlength=2) / len(rows)
    weight = 0.5 / share[split.y[rows]] if is_balanced(case) else np.ones(len(rows))
    boosted = lightgbm.LGBMClassifier(n_estimators=N_TREES, random_state=seed, n_jobs=1, verbose=-1)
    return boosted.fit(split.X[rows], split.y[rows], sample_weight=weight)


def is_balanced(case: str) -> bool:
    return CASES[case].objective == "balanced_accuracy"


def run(model: str, case: str, features: str, seed: int) -> dict[str, Any]:
    """All variants on one split: test rows decided favourably at each bound, and whether it was met where chosen."""
    split = split_people(draw(seed) if case == SYNTHETIC else load(case), features, seed)
    trained = train(model, case, split, seed)
    cell = 2 * split.group[split.test] + split.y[split.test]
    found: dict[str, Any] = {"totals": np.bincount(cell, minlength=4).reshape(2, 2).tolist()}
    for variant in variants(model):
        STRATEGIES["variant"] = Strategy(variant.order, flips=False)
        X, y, group = split.rows(split.fitted_on)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            path = trace_path(
                trained,
                X,
                y,
                sensitive_features=group,
                strategy="variant",
                constraint=ODDS,
                select_on=split.rows(split.held_out),
                n_jobs=1,
            )
            choices = [path.select(epsilon=epsilon) for epsilon in EPSILONS]
            measured = path.measure(*split.rows(split.test))
        found[variant.title] = {
            "favorable": [measured.counts.favorable[choice.step].tolist() for choice in choices],
            "met": [bool(choice.met) for choice in choices],
        }
    return found


@dataclass(frozen=True)
class Results:
    """All splits of one model, data set and set of features."""

    case: str
    runs: list[dict[str, Any]]

    def measured(self, variant: Variant) -> Measured:
        curve = Curve(
            favorable=np.array([one[variant.title]["favorable"] for one in self.runs], float),
            totals=np.array([one["totals"] for one in self.runs], float),
            fit=np.zeros(0),
            predict=np.zeros(0),
            bounds=list(EPSILONS),
            settings=[],
            seconds=0.0,
            random=False,
            model="",
        )
        return Measured(curve, "balanced_accuracy" if is_balanced(self.case) else "accuracy", ERRORS)

    def values(self, variant: Variant, left_out: int | None = None) -> np.ndarray:
        """The metric at each level, in percent; where no bound reaches it, mixed with one decision for all."""
        measured = self.measured(variant)
        splits = np.delete(np.arange(len(self.runs)), [] if left_out is None else left_out)
        gaps, values, alike = measured._parts
        points = [*gaps[splits].mean(axis=0), np.zeros(gaps.shape[-1])]
        heights = [*values[splits].mean(axis=0), alike[splits].mean()]
        return np.array(
            [
                measured.at(level, splits)
                if measured.reaches(level)
                else best_mixture(np.array(points), np.array(heights), level)
                for level in LEVELS
            ]
        )

    def met(self, variant: Variant) -> np.ndarray:
        """How often each level was met on the rows chosen on."""
        places = [EPSILONS.index(level) for level in LEVELS]
        return np.array([[one[variant.title]["met"][k] for k in places] for one in self.runs], float).mean(axis=0)


def judge(results: list[Results], among: list[Variant]) -> tuple[Variant, dict[Variant, tuple[float, float, float]]]:
    """The winner, and of each its mean in percent, how far behind the highest it is, and the error of that."""
    means = {variant: 100 * np.mean([one.values(variant) for one in results]) for variant in among}
    best = max(among, key=lambda variant: means[variant])
    found = {}
    for variant in among:
        variance = 0.0
        for one in results:
            n = len(one.runs)
            away = [np.mean(one.values(best, i) - one.values(variant, i)) for i in range(n)]
            variance += (n - 1) * np.var(away) / len(results) ** 2
        found[variant] = float(means[variant]), float(means[best] - means[variant]), float(100 * np.sqrt(variance))
    near = [variant for variant in among if found[variant][1] <= found[variant][2]]
    return max(near, key=lambda variant: np.mean([one.met(variant).mean() for one in results])), found


def write_page(results: dict[str, list[Results]], out: Path | None) -> None:
    say("# How the curve of a shift is found")
    say()
    say(f"Made by `make benchmark-curve` (`python benchmarks/shift_curve.py`) with {VERSIONS}.")
    say()
    say(
        "Sixteen variants for equalized odds, on splits of the peers page with other seeds, by the rule in "
        "[decisions.md](../development/decisions.md): accuracy in percent (on Bank balanced) at a difference of 0.01, "
        "0.05 and 0.10 on test rows, in the mean over data sets, features and these levels, and how often these bounds "
        "are met on the selection rows. Titles are: what leaves are fitted to; feedback from counts; whether the curve "
        "goes on around prices of no difference. ± is the standard error of how far a variant is behind the highest."
    )
    say()
    together = [one for every in results.values() for one in every]
    common = list(variants(BOOSTED))
    for title, some, among in (
        ("Both kinds of models together", together, common),
        *((title, every, list(variants(title))) for title, every in results.items()),
    ):
        winner, found = judge(some, among)
        say(f"## {title}")
        say()
        rows = [
            [
                variant.title + (", chosen by the rule" if variant == winner else ""),
                f"{found[variant][0]:.2f}",
                f"{found[variant][1]:.2f} ± {found[variant][2]:.2f}",
                *(f"{share:.2f}" for share in np.mean([one.met(variant) for one in some], axis=0)),
            ]
            for variant in sorted(among, key=lambda variant: -found[variant][0])
        ]
        table(["variant", "mean", "behind", *(f"met at {level:g}" for level in LEVELS)], rows)
    save(out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="two splits of COMPAS alone")
    parser.add_argument("--runs", type=Path, default=Path(".runs/shift_curve"))
    parser.add_argument("--out", type=Path, default=None)
    asked = parser.parse_args()
    asked.runs.mkdir(parents=True, exist_ok=True)
    n_seeds = {"compas": 2} if asked.quick else N_SEEDS
    results: dict[str, list[Results]] = {}
    for model in (BOOSTED, FOREST):
        for case, n in n_seeds.items():
            for features in FEATURES:
                runs = []
                for seed in range(FIRST_SEED, FIRST_SEED + n):
                    file = asked.runs / f"{model}-{case}-{features}-{seed}.json"
                    if not file.exists():
                        write_whole(file, json.dumps(run(model, case, features, seed)))
                    runs.append(json.loads(file.read_text()))
                results.setdefault(model, []).append(Results(case, runs))
                print(model, case, features, flush=True)
    write_page(results, asked.out)


if __name__ == "__main__":
    main()
