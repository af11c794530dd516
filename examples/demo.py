"""The main job on synthetic applicants: a forest that favours a group it was never told about, made fair.

The forest is trained without the sensitive attribute; it favours the privileged group through proxies. One path is
traced on held-out rows, and every bound is looked up in it. All numbers printed are of test rows that neither
training nor selection has seen.
"""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import accuracy_score
from sklearn.model_selection import train_test_split

from eifffel import trace_path
from eifffel.datasets import make_biased_classification

EPSILONS = (0.15, 0.10, 0.05, 0.02, 0.01)


def show(name: str, n_flips: int, decision: np.ndarray, y: np.ndarray, s: np.ndarray) -> None:
    unprivileged, privileged = (decision[s == group].mean() for group in (0, 1))
    print(
        f"{name:>12} {n_flips:>8,} {unprivileged:>14.1%} {privileged:>14.1%} "
        f"{privileged - unprivileged:>15.3f} {accuracy_score(y, decision):>9.3f}"
    )


def main() -> None:
    people = make_biased_classification(40_000, random_state=0)
    X, y, s = people.data, people.target, people.sensitive
    X_train, X_rest, y_train, y_rest, s_train, s_rest = train_test_split(X, y, s, test_size=0.5, random_state=0)
    X_val, X_test, y_val, y_test, s_val, s_test = train_test_split(
        X_rest, y_rest, s_rest, test_size=0.5, random_state=0
    )

    print(f"Training a forest on {len(y_train):,} applicants; their group is not among the features.")
    forest = RandomForestClassifier(100, min_samples_leaf=2, n_jobs=2, random_state=0).fit(X_train, y_train)

    path = trace_path(
        forest,
        X_train,
        y_train,
        sensitive_features=s_train,
        select_on=(X_val, y_val, s_val),
        n_jobs=2,
        verbose=1,
    )
    print(f"One pass gave all {path.n_steps:,} steps, each measured on {len(y_val):,} held-out applicants.\n")

    print(f"Favourable decisions on {len(y_test):,} test applicants, for bounds looked up in the path:\n")
    print(
        f"{'epsilon':>12} {'flips':>8} {'unprivileged':>14} {'privileged':>14} {'discrimination':>15} {'accuracy':>9}"
    )
    show("as it came", 0, forest.predict(X_test), y_test, s_test)
    for epsilon in EPSILONS:
        choice = path.select(epsilon=epsilon)
        decision = path.model_at(choice.step).predict(X_test)
        show(f"{epsilon:g}", path.n_flips(choice.step), decision, y_test, s_test)

    picture = Path("output/demo_tradeoff.png")
    picture.parent.mkdir(exist_ok=True)
    path.plot(epsilon=0.05).figure_.savefig(picture, dpi=150)
    print(f"\nThe trade-off is drawn in {picture}.")


if __name__ == "__main__":
    main()
