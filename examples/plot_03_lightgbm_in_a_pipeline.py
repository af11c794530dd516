"""
A LightGBM model in a pipeline
==============================

A pipeline was trained elsewhere and arrives as a file. It takes a pandas frame with a categorical column, and ends in a
LightGBM model. We bring it within a bound without training anything, save it, and undo the edit.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from lightgbm import LGBMClassifier
from matplotlib.colors import to_rgba
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder

import eifffel
from eifffel.datasets import make_biased_classification

REGIONS = ["north", "north-east", "east", "south-east", "south", "south-west", "west", "north-west"]


def draw_people(n, seed):
    drawn = make_biased_classification(n, random_state=seed)
    table = pd.DataFrame(drawn.data, columns=drawn.feature_names)
    table["region"] = pd.Categorical.from_codes(table["region"].astype(int), REGIONS)
    return table, drawn.target, np.where(drawn.sensitive == 1, "man", "woman")


# %%
# Elsewhere
# ---------
# This part stands for the people who trained the model. The group is not among the columns. :func:`eifffel.save` writes
# a skops file, which holds no pickle; a file written by ``skops.io.dump`` works as well.

work = tempfile.TemporaryDirectory()
folder = Path(work.name)
table, granted, gender = draw_people(6000, seed=0)
columns = ColumnTransformer(
    [("region", OneHotEncoder(handle_unknown="ignore", sparse_output=False), ["region"])],
    remainder="passthrough",
    verbose_feature_names_out=False,
).set_output(transform="pandas")
booster = LGBMClassifier(n_estimators=100, num_leaves=15, random_state=0, n_jobs=1, verbose=-1)
eifffel.save(Pipeline([("columns", columns), ("model", booster)]).fit(table, granted), folder / "model.skops")

# %%
# Here
# ----
# :func:`eifffel.load` refuses any type that is not on a published list. :func:`~eifffel.trace_path` takes the same rows
# as the pipeline. Leaves of a boosted model are corrections to the trees before them, so ``strategy="auto"`` does not
# flip but shifts them, all of them a little. The bound is 0.05, to be kept with 95% confidence for people like the
# 6,000 on whom the step is chosen.

model = eifffel.load(folder / "model.skops")
held_out = draw_people(6000, seed=1)
path = eifffel.trace_path(model, table, granted, sensitive_features=gender, select_on=held_out)
choice = path.select(epsilon=0.05, confidence=0.95)
fair = path.model_at(choice)
print(path)
print(f"step {choice.step}, met: {choice.met}; discrimination {choice.discrimination:.4f},")
print(f"between {choice.lower:.4f} and {choice.upper:.4f} with 95% confidence")
print(f"accuracy {choice.accuracy:.4f}, which is {choice.accuracy_drop:.4f} less than that of the original model")

# %%
# What came out
# -------------
# The result is a plain pipeline of the same steps, without any class of eifffel. Its trees have the same splits; only
# the values of leaves differ.

before, after = (each[-1].booster_.trees_to_dataframe() for each in (model, fair))
print([type(step).__module__ + "." + type(step).__name__ for _, step in fair.steps])
same = before.drop(columns="value").equals(after.drop(columns="value"))
leaves = before["split_feature"].isna()
moved = (after["value"] - before["value"])[leaves]
print(f"splits are the same: {same}; {(moved != 0).sum():,} of {leaves.sum():,} leaves have another value")

# %%
# Saved, and undone
# -----------------
# The file contains the record of the edit. :func:`eifffel.undo` gives the original model, to the last bit.

eifffel.save(fair, folder / "fair.skops")
loaded = eifffel.load(folder / "fair.skops")
later = draw_people(6000, seed=2)
assert np.array_equal(loaded.predict_proba(later[0]), fair.predict_proba(later[0]))
assert eifffel.undo(loaded)[-1].booster_.model_to_string() == model[-1].booster_.model_to_string()
print(path.measure(*later).verdict(choice))
work.cleanup()

# %%
# The picture shows the 6,000 people of the verdict above, who came later. A shift lowers the scores of people whose
# columns look like those of men, and raises those of others, whatever their group: the pipeline does not know it.

fig, axes = plt.subplots(2, 1, figsize=(7.2, 4.8), layout="constrained", sharex=True, sharey=True)
look = {"bins": np.linspace(0, 1, 41), "density": True, "histtype": "stepfilled", "linewidth": 1.5}
for ax, each, title in zip(axes, (model, fair), ("original model", "shifted"), strict=True):
    chance, granted = each.predict_proba(later[0])[:, 1], each.predict(later[0])
    for group, colour in (("woman", "C1"), ("man", "C0")):
        rows = later[2] == group
        label = f"{group}: {granted[rows].mean():.1%} granted"
        ax.hist(chance[rows], facecolor=to_rgba(colour, 0.3), edgecolor=colour, label=label, **look)
    ax.axvline(0.5, color="0.4", linewidth=1)
    ax.set(title=title, ylabel="density")
    ax.legend()
_ = axes[1].set_xlabel("probability of the favourable decision, which the model grants above 1/2")
