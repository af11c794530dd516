"""
A first flip
============

One small tree, one flipped leaf, and the arithmetic of it by hand. To flip a leaf is to reverse its decision: people in
it who were refused are granted the loan, or the other way round. The rest of the tree stays the same.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Rectangle
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from eifffel import trace_path
from eifffel.datasets import make_biased_classification

# %%
# We draw applicants for a loan. The tree sees two columns: their income, and the hours that they work. Both groups have
# similar incomes, but women work fewer hours in these data, and past decisions favoured men. The group itself is not
# among the features.

NAMES = ["income", "hours_per_week"]


def draw_people(n, seed):
    drawn = make_biased_classification(n, random_state=seed)
    X = drawn.data[:, [drawn.feature_names.index(name) for name in NAMES]] / [1000, 1]
    return X, drawn.target, np.where(drawn.sensitive == 1, "man", "woman")


X, y, gender = draw_people(400, seed=0)
tree = DecisionTreeClassifier(max_depth=3, min_samples_leaf=20, random_state=0).fit(X, y)

# %%
# :func:`~eifffel.trace_path` puts all flips that lower the difference between the groups in order, best first. Here we
# look only at the first: the leaf as a rule, and how many people are in it by group and label. (The rule also says
# whether people with a missing value fall into the leaf; here no value is missing.)

path = trace_path(tree, X, y, sensitive_features=gender, strategy="leaf")
leaf, rule = path.flips(1)[0], path.rules(1, NAMES)[0]
print(f"{rule}\nprivileged: {path.privileged}; people in the leaf:")
for cell in path.cell_names:
    print(f"{cell:>26} {leaf[cell]:>3}")

# %%
# These counts determine what the flip changes. *Discrimination* is the share of men who are granted the loan minus that
# of women. Before the flip the leaf refuses, and after it the leaf grants. The share of men rises by the men in the
# leaf divided by all men, and that of women by the women in it divided by all women. Accuracy gains the people in the
# leaf whose label is favourable and loses the others.

men, women = (leaf[f"{role}_favorable"] + leaf[f"{role}_unfavorable"] for role in ("privileged", "unprivileged"))
by_hand = men / (gender == "man").sum() - women / (gender == "woman").sum()
right = leaf["privileged_favorable"] + leaf["unprivileged_favorable"]
gained = (right - (men + women - right)) / len(y)
found = np.diff(path.discrimination)[0], np.diff(path.accuracy)[0]
print(f"by hand:  discrimination {by_hand:+.4f}, accuracy {gained:+.4f}")
print("the path: discrimination {:+.4f}, accuracy {:+.4f}".format(*found))
assert np.allclose(found, (by_hand, gained))

# %%
# Both numbers refer to the people that the tree was trained on. The flip has a price: the tree loses the accuracy
# printed above. No other flip of this tree lowers discrimination by as much for each point of accuracy, so it comes
# first. The picture outlines its leaf.

incomes, hours = np.meshgrid(np.linspace(8, 90, 300), np.linspace(22, 58, 300))
points = np.column_stack([incomes.ravel(), hours.ravel()])


def draw_decisions(ax, model, title):
    granted = model.predict(points).reshape(incomes.shape)
    ax.contourf(incomes, hours, granted, levels=[0.5, 1.5], colors=["#009e73"], alpha=0.22)
    for group, colour, marker in (("woman", "C1", "o"), ("man", "C0", "^")):
        for label, face, name in ((1, colour, "to be granted"), (0, "none", "to be refused")):
            rows, look = (gender == group) & (y == label), {"facecolors": face, "edgecolors": colour}
            ax.scatter(*X[rows].T, s=18, marker=marker, linewidths=0.9, label=f"{group}, {name}", **look)
    ax.set(xlabel="income, in thousands", ylabel="hours per week", xlim=(8, 90), ylim=(22, 58), title=title)
    ax.label_outer()


fig, axes = plt.subplots(1, 2, figsize=(9, 4.8), layout="constrained")
inside = points[rule.matches(points)]
corner, size = inside.min(axis=0), np.ptp(inside, axis=0)
for ax, step, when in zip(axes, (0, 1), ("original model", "one leaf flipped"), strict=True):
    measured = f"discrimination {path.discrimination[step]:.3f}, accuracy {path.accuracy[step]:.3f}"
    draw_decisions(ax, path.model_at(step), f"Tree, {when}\n{measured}")
    ax.add_patch(Rectangle(corner, *size, fill=False, linewidth=3))
_ = fig.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, title="Granted where shaded")

# %%
# A forest averages its trees, so one flip moves the score of the people in a leaf only a little. It takes many flips,
# in the same order: always the best leaf of the tree that discriminates most. Their number is chosen on people whom the
# forest was not trained on, here so that discrimination is at most 0.05 for them. The numbers below also refer to these
# people; the picture shows the first 400 people again.

training, others = draw_people(4000, seed=1), draw_people(4000, seed=2)
forest = RandomForestClassifier(50, min_samples_leaf=20, random_state=0).fit(*training[:2])
path = trace_path(forest, *training[:2], sensitive_features=training[2], strategy="leaf", select_on=others)
choice = path.select(epsilon=0.05)
n_leaves = sum(member.get_n_leaves() for member in forest.estimators_)
print(f"{path.n_flips(choice.step):,} of {n_leaves:,} leaves flipped; accuracy falls by {choice.accuracy_drop:.4f}")

fig, axes = plt.subplots(1, 2, figsize=(9, 4.4), layout="constrained")
for ax, step, when in zip(axes, (0, choice.step), ("original model", "flipped for epsilon 0.05"), strict=True):
    measured = f"discrimination {path.discrimination[step]:.3f}, accuracy {path.accuracy[step]:.3f}"
    draw_decisions(ax, path.model_at(step), f"Forest, {when}\n{measured}")

# %%
# The border is now upright: the edited forest decides almost by income alone, as it should if hours indicated the group
# and nothing else. It needs nobody's group to predict.
