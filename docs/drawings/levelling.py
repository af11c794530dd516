"""Whose rate moves: of all directions, and upwards only."""

import matplotlib.pyplot as plt
from sklearn.ensemble import RandomForestClassifier

from eifffel import trace_path
from eifffel.datasets import make_biased_classification

people, new = (make_biased_classification(6000, random_state=seed) for seed in (0, 1))
X, y, s = people.data, people.target, people.sensitive
forest = RandomForestClassifier(100, min_samples_leaf=5, random_state=0).fit(X, y)
rows = {"sensitive_features": s, "select_on": (new.data, new.target, new.sensitive)}

figure, axes = plt.subplots(1, 2, figsize=(7.6, 3.1), layout="constrained", sharey=True)
for ax, direction, title in zip(axes, ("any", "up"), ('direction="any"', 'direction="up"'), strict=True):
    path = trace_path(forest, X, y, direction=direction, **rows)
    end = path.select(epsilon=0.005).step
    rates = path.selection_rates[: end + 1]
    for group, color, name in ((1, "C0", "men"), (0, "C1", "women")):
        ax.plot(path.discrimination[: end + 1], 100 * rates[:, group], color=color, label=name)
    accuracy = 100 * (path.accuracy[end] - path.accuracy[0])
    ax.set(title=f"{title}\nat the end {accuracy:+.1f} points of accuracy", xlabel="discrimination")
    ax.invert_xaxis()
    ax.locator_params(axis="x", nbins=5)
    ax.grid(alpha=0.3)
axes[0].set_ylabel("decided favourably, %")
axes[0].legend(loc="center left")
