"""Kamiran's relabelling of a single decision tree, which is `trace_path` on a tree with ``strategy="leaf"``.

Kamiran, Calders and Pechenizkiy (2010) grow a tree with the criterion IGC + IGS, whose leaves tend to hold one group,
and then relabel the leaves that buy the most discrimination for the least accuracy. This grows such a tree and a plain
one on synthetic applicants, relabels both, prints what was changed, and draws the discrimination-aware tree.
"""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier, plot_tree

from eifffel import DiscriminationAwareTreeClassifier, trace_path
from eifffel.datasets import make_biased_classification
from eifffel.metrics import measure

EPSILON = 0.05


def main() -> None:
    people = make_biased_classification(20_000, random_state=0)
    X_train, X_test, y_train, y_test, s_train, s_test = train_test_split(
        people.data, people.target, people.sensitive, test_size=0.5, random_state=0
    )
    size = {"max_depth": 5, "min_samples_leaf": 20, "random_state": 0}
    trees = {
        "plain entropy tree": DecisionTreeClassifier(criterion="entropy", **size).fit(X_train, y_train),
        "discrimination-aware tree": DiscriminationAwareTreeClassifier(**size).fit(
            X_train, y_train, sensitive_features=s_train
        ),
    }

    print(f"Relabelled until discrimination is at most {EPSILON} on the training rows; measured on test rows:\n")
    print(f"{'':>27} {'leaves':>7} {'relabelled':>11} {'discrimination':>23} {'accuracy':>19}")
    for name, tree in trees.items():
        path = trace_path(tree, X_train, y_train, sensitive_features=s_train, strategy="leaf")
        choice = path.select(epsilon=EPSILON, rule="paper")
        relabelled = path.model_at(choice.step)
        before, after = (
            [
                measure(metric, y_test, model.predict(X_test), sensitive_features=s_test, privileged=1)
                for metric in ("discrimination", "accuracy")
            ]
            for model in (tree, relabelled)
        )
        print(
            f"{name:>27} {tree.get_n_leaves():>7} {path.n_flips(choice.step):>11} "
            f"{before[0]:>12.3f} -> {after[0]:>6.3f} {before[1]:>9.3f} -> {after[1]:.3f}"
        )

    print(f"\nThe leaves of the {name} that were relabelled:\n")
    for rule in path.rules(choice.step, people.feature_names):
        print(f"  {rule}")

    fig, ax = plt.subplots(figsize=(25, 7), layout="constrained")
    drawn = plot_tree(
        relabelled,
        feature_names=people.feature_names,
        class_names=["refused", "granted"],
        filled=True,
        impurity=False,
        label="root",
        precision=2,
        fontsize=7,
        ax=ax,
    )
    boxes = [text.get_bbox_patch() for text in drawn]
    nodes = [box for box in boxes if box is not None]  # in the order of their numbers
    for leaf in path.flips(choice.step)["leaf"]:
        nodes[leaf].set(edgecolor="crimson", linewidth=3)
    ax.set_title(f"{name}: the leaves outlined in red were relabelled, their two counts swapped")
    picture = Path("output/relabelled_tree.png")
    picture.parent.mkdir(exist_ok=True)
    fig.savefig(picture, dpi=90)
    print(f"\nThe tree is drawn in {picture}.")


if __name__ == "__main__":
    main()
