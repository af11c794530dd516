"""
SHAP values before and after
============================

An edited model has the same class as the original, so SHAP explains it like any other. Side by side, the values of both
show which columns lost weight by the edit, and which gained it.
"""

import matplotlib.pyplot as plt
import numpy as np
import shap
from sklearn.ensemble import RandomForestClassifier

from eifffel import trace_path
from eifffel.datasets import make_biased_classification

# %%
# The group is not among the columns. The forest still favours men, through columns that differ between the groups:
# hours per week, years of career break, part time. Income, debt, years employed and savings do not differ, and
# determine merit in these data. Region, age and the number of accounts carry no information.

training, held_out, later = (make_biased_classification(4000, random_state=seed) for seed in range(3))
forest = RandomForestClassifier(50, min_samples_leaf=10, random_state=0).fit(training.data, training.target)
path = trace_path(
    forest,
    training.data,
    training.target,
    sensitive_features=training.sensitive,
    select_on=(held_out.data, held_out.target, held_out.sensitive),
)
choice = path.select(epsilon=0.02)
fair = path.model_at(choice)
print(
    f"on the {choice.discrimination_rows}: discrimination {path.discrimination[0]:.4f} -> {choice.discrimination:.4f},"
)
print(f"accuracy {path.accuracy[0]:.4f} -> {choice.accuracy:.4f}")

# %%
# SHAP splits a model's output for a person, here the probability of the favourable decision, into a sum: the average
# output, and what each column adds to it. The sums are right for the edited forest too. We use 500 people who took no
# part in training or in the choice of the step.

X, men = later.data[:500], later.sensitive[:500] == 1
values = {}
for name, model in (("original model", forest), ("edited", fair)):
    explainer = shap.TreeExplainer(model)
    values[name] = explainer.shap_values(X)[..., 1]
    told = explainer.expected_value[1] + values[name].sum(axis=1)
    assert np.allclose(told, model.predict_proba(X)[:, 1])

# %%
# The left panel shows how much each column moves scores, up or down: the mean of absolute values. The right panel shows
# how much of the difference between the groups it carries: the mean of its values for men minus that for women. Over
# all columns these add up to the difference of the mean probabilities, which is printed first.

carried = {name: each[men].mean(axis=0) - each[~men].mean(axis=0) for name, each in values.items()}
for name, model in (("original model", forest), ("edited", fair)):
    chance = model.predict_proba(X)[:, 1]
    difference = chance[men].mean() - chance[~men].mean()
    assert np.isclose(carried[name].sum(), difference)
    decided = model.predict(X)
    apart = decided[men].mean() - decided[~men].mean()
    print(f"{name}: mean probability, men minus women {difference:.4f}; share decided favourably {apart:.4f}")

fig, axes = plt.subplots(1, 2, figsize=(9, 4.8), layout="constrained", sharey=True)
order = np.argsort(np.abs(values["original model"]).mean(axis=0))
shown = {"mean |SHAP value|": {name: np.abs(each).mean(axis=0) for name, each in values.items()}}
shown["mean SHAP value, men minus women"] = carried
for ax, (title, bars) in zip(axes, shown.items(), strict=True):
    for (name, widths), shift, colour in zip(bars.items(), (0.2, -0.2), ("0.6", "C0"), strict=True):
        ax.barh(np.arange(len(order)) + shift, widths[order], height=0.4, color=colour, label=name)
    ax.axvline(0, color="0.3", linewidth=1)
    ax.set(title=title, xlabel="probability of the favourable decision")
axes[0].set_yticks(range(len(order)), [later.feature_names[place] for place in order])
_ = axes[0].legend(loc="lower right")

# %%
# The columns that distinguish the groups have lost most of their weight, and with it most of the difference that they
# carried. The columns of merit keep theirs. Nobody named these columns for the edit: it changed leaves, and these
# leaves lie behind splits on these columns.
#
# What this does not say:
#
# - It is about scores, and the bound is about decisions: the two differences printed above the picture are not the
#   same. The bound was set for decisions about the selection rows; among these 500 people, rates also differ by chance.
# - It is about the model, not about the world. No value says why anybody's hours are what they are.
# - How much is credited to hours and how much to a career break is partly convention, because the two are correlated.
#   SHAP here uses how many training rows went each way at each split, which no edit changes.
# - A mean hides people. That a column matters little on average does not say that it matters to nobody.
# - It does not say whether the model is fair. That is measured on decisions, by group, on rows that it has not seen.
