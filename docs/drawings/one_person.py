"""One person in a forest of five trees: what one flip does to the score."""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import RandomForestClassifier

from eifffel import trace_path
from eifffel.datasets import make_biased_classification

people = make_biased_classification(1000, random_state=0)
X, y, s = people.data, people.target, people.sensitive
forest = RandomForestClassifier(5, max_depth=4, random_state=0).fit(X, y)
path = trace_path(forest, X, y, sensitive_features=s, strategy="leaf")

# The first step at which somebody's decision turns, and who that is.
decided = forest.predict(X)
for step in range(1, path.n_steps + 1):
    edited = path.model_at(step)
    turned = np.flatnonzero(edited.predict(X) != decided)
    if len(turned):
        break
person = turned[:1]
before, after = (
    np.array([tree.predict_proba(X[person])[0, 1] for tree in model.estimators_])
    for model in (path.model_at(step - 1), edited)
)
figure, axes = plt.subplots(1, 2, figsize=(7.6, 2.9), layout="constrained", sharey=True)
for ax, fractions, title in zip(axes, (before, after), (f"before flip {step}", f"after flip {step}"), strict=True):
    changed = before != after
    colors = np.where(changed, "C1", "0.75") if fractions is after else np.full(5, "0.75")
    ax.bar(range(1, 6), fractions, color=colors)
    ax.axhline(0.5, color="0.3", linestyle=":", linewidth=1)
    ax.axhline(fractions.mean(), color="C0", linewidth=2, label=f"their mean, {fractions.mean():.3f}")
    word = "granted" if fractions.mean() > 0.5 else "refused"
    ax.set(title=f"{title}: {word}", xlabel="tree", ylim=(0, 1))
    ax.legend(loc="upper left")
axes[0].set_ylabel("favourable fraction\nof this person's leaf")
