"""Scores of some people while all leaves of a boosted model move along one direction."""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier

from eifffel import trace_path
from eifffel.datasets import make_biased_classification

people = make_biased_classification(4000, random_state=0)
X, y, s = people.data, people.target, people.sensitive
model = HistGradientBoostingClassifier(max_iter=50, random_state=0).fit(X[:2000], y[:2000])
path = trace_path(model, X[:2000], y[:2000], sensitive_features=s[:2000], select_on=(X[2000:], y[2000:], s[2000:]))
chosen = path.select(epsilon=0.02).step

some = 2000 + np.random.default_rng(1).choice(2000, 60, replace=False)
ends = [0, chosen]  # between them, scores are straight lines
scores = np.array([path.model_at(step).decision_function(X[some]) for step in ends])
turned = (scores > 0)[0] != (scores > 0)[1]
figure, ax = plt.subplots(figsize=(7.6, 3.2), layout="constrained")
for group, color, name in ((1, "C0", "man"), (0, "C1", "woman")):
    of_group = s[some] == group
    ax.plot(path.positions[ends], scores[:, of_group & ~turned], color=color, alpha=0.25, linewidth=1)
    lines = ax.plot(path.positions[ends], scores[:, of_group & turned], color=color, linewidth=2)
    lines[0].set_label(f"{name}, decided otherwise")
ax.axhline(0, color="0.2", linewidth=1.2)
ax.annotate("decided favourably", (0, 0), xytext=(4, 6), textcoords="offset points", color="0.2")
ax.annotate("decided unfavourably", (0, 0), xytext=(4, -13), textcoords="offset points", color="0.2")
ax.set(xlabel="how far the leaves are shifted, lambda", ylabel="score", ylim=(-2, 2), xlim=(0, path.positions[chosen]))
ax.legend(loc="upper right")
