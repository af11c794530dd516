"""One tree of a forest: who falls into each leaf, and what flipping it would change."""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.tree import DecisionTreeClassifier

from eifffel import trace_path
from eifffel.datasets import make_biased_classification

YES, NO = "#cfe8d5", "#f3d6cf"

people = make_biased_classification(1000, random_state=3)
columns = [people.feature_names.index(name) for name in ("income", "career_break_years")]
X, y, s = people.data[:, columns], people.target, people.sensitive
tree = DecisionTreeClassifier(max_depth=2, min_samples_leaf=40, random_state=0).fit(X, y)
path = trace_path(tree, X, y, sensitive_features=s, privileged=1, strategy="leaf")
leaves, nodes = tree.apply(X), tree.tree_

places: dict[int, tuple[float, float]] = {}


def place(node: int, low: float, high: float, depth: int) -> None:
    places[node] = ((low + high) / 2, 1 - 0.36 * depth)
    if nodes.children_left[node] >= 0:
        place(nodes.children_left[node], low, (low + high) / 2, depth + 1)
        place(nodes.children_right[node], (low + high) / 2, high, depth + 1)


place(0, 0, 1, 0)
first = int(path.flips(1)["leaf"][0])
figure, ax = plt.subplots(figsize=(7.6, 4.3), layout="constrained")
for node, (x, height) in places.items():
    if nodes.children_left[node] >= 0:
        for child, word in ((nodes.children_left[node], "yes"), (nodes.children_right[node], "no")):
            ax.plot([x, places[child][0]], [height, places[child][1]], color="0.6", zorder=0)
            ax.annotate(word, ((x + places[child][0]) / 2, (height + places[child][1]) / 2), color="0.4", ha="center")
        name = people.feature_names[columns[nodes.feature[node]]].replace("_", " ")
        text, color, edge = f"{name} ≤ {nodes.threshold[node]:,.1f}?", "white", "0.5"
    else:
        n = np.array([[(leaves == node) & (s == group) & (y == label) for label in (0, 1)] for group in (0, 1)]).sum(-1)
        granted = nodes.value[node, 0, 1] > 0.5
        share = n[1].sum() / (s == 1).sum() - n[0].sum() / (s == 0).sum()
        disc = -share if granted else share
        agree, disagree = n[:, int(granted)].sum(), n[:, int(not granted)].sum()
        accu = (disagree - agree) / len(y)
        text = (
            f"{'granted' if granted else 'refused'}\nwomen {n[0].sum()}, men {n[1].sum()}\n"
            f"label granted {n[:, 1].sum()},\nrefused {n[:, 0].sum()}\n\n"
            f"flipped:\ndiscrimination {disc:+.2f}\naccuracy {accu:+.3f}"
        )
        color, edge = (YES if granted else NO), ("crimson" if node == first else "0.5")
        if node == first:
            # The page speaks of these numbers.
            assert (n.sum(axis=1).tolist(), n.sum(axis=0).tolist()) == ([103, 18], [63, 58])
            assert np.isclose(path.discrimination[1] - path.discrimination[0], disc)
            assert np.isclose(path.accuracy[1] - path.accuracy[0], accu)
    box = {"boxstyle": "round,pad=0.45", "facecolor": color, "edgecolor": edge, "linewidth": 3 if node == first else 1}
    ax.text(
        x, height, text, ha="center", va="center" if nodes.children_left[node] >= 0 else "top", bbox=box, fontsize=8.5
    )
ax.set(xlim=(-0.02, 1.02), ylim=(-0.22, 1.1))
ax.axis("off")
