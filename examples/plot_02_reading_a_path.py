"""
Reading a path
==============

:func:`~eifffel.trace_path` returns a :class:`~eifffel.FairnessPath`: every step from the original model to the last
edit, each measured on rows that you name. This example reads a path and chooses a step of it.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import RandomForestClassifier

from eifffel import trace_path
from eifffel.datasets import make_biased_classification

# %%
# There are three draws of people. The first trains the forest and scores its leaves. On the second, every step is
# measured and one is chosen. The third comes later and has no part in either. The bound is set first: 0.05.


def draw_people(n, seed):
    drawn = make_biased_classification(n, random_state=seed)
    return drawn.data, drawn.target, np.where(drawn.sensitive == 1, "man", "woman")


training, selection, later = draw_people(4000, 0), draw_people(4000, 1), draw_people(8000, 2)
forest = RandomForestClassifier(100, min_samples_leaf=5, random_state=0).fit(*training[:2])
path = trace_path(forest, *training[:2], sensitive_features=training[2], select_on=selection)
print(path)

# %%
# The whole trade-off
# -------------------
# Each point of the line is a model. The square is the original forest. To the left of it, the rates at which men and
# women are granted loans are closer; further down, fewer decisions agree with the labels. The labels are past
# decisions, which favoured men in these data, so part of the loss of accuracy comes from not repeating them.

display = path.plot(epsilon=0.05)

# %%
# What a selection says
# ---------------------
# :meth:`~eifffel.FairnessPath.select` looks up a step. ``epsilon`` bounds the difference between the two groups' rates.

choice = path.select(epsilon=0.05)
print(f"step {choice.step}: {path.n_flips(choice.step):,} leaves flipped; met: {choice.met}")
groups = path.grouping.compared
print(f"measured on {choice.n_discrimination_rows:,} {choice.discrimination_rows}: {choice.n_rows} of {groups}")
print(f"rates of favourable decisions: {np.round(choice.selection_rates, 4)}")
print(f"discrimination, the second rate minus the first: {choice.discrimination:.4f}")
print("  95% interval of it: {:.4f} to {:.4f}".format(*choice.interval))
print(f"accuracy {choice.accuracy:.4f}, a drop of {choice.accuracy_drop:.4f}")

# %%
# Other bounds are look-ups too, without new training or counting.

print("epsilon  step  discrimination  accuracy    drop")
for epsilon in (0.2, 0.15, 0.1, 0.05, 0.02, 0.01):
    each = path.select(epsilon=epsilon)
    print(f"{epsilon:7}  {each.step:4}  {each.discrimination:14.4f}  {each.accuracy:8.4f}  {each.accuracy_drop:6.4f}")

# %%
# ``alpha`` also limits the drop of accuracy. The picture, or the next lines, show the smallest discrimination that a
# drop of two points buys. If no step meets both bounds, ``met`` is ``False``, a warning says so, and the step is the
# nearest one that keeps ``alpha``.

affordable = path.accuracy_drop <= 0.02
print(f"smallest discrimination for a drop of at most 0.02: {np.abs(path.discrimination[affordable]).min():.4f}")
print(f"epsilon 0.1 and alpha 0.02 met: {path.select(epsilon=0.1, alpha=0.02).met}")

# %%
# A bound for other people
# ------------------------
# The step above only just keeps its bound on the selection rows. For the people that they were drawn from, such a step
# breaks the bound about every second time. With ``confidence`` the chosen step keeps the bound for them too, and is
# wrong in about one of twenty draws of selection rows or fewer. It goes further, and costs more accuracy. This needs a
# bound that was set before anybody looked at these rows, as 0.05 was here; a bound that was read off the picture has no
# such confidence.

sure = path.select(epsilon=0.05, confidence=0.95)
print(f"step {sure.step} in place of {choice.step}: discrimination {sure.discrimination:.4f} on the selection rows,")
print(f"between {sure.lower:.4f} and {sure.upper:.4f} with 95% confidence;")
print(f"accuracy {sure.accuracy:.4f} in place of {choice.accuracy:.4f}")

# %%
# People who come later
# ---------------------
# :meth:`~eifffel.FairnessPath.measure` measures the same path on other rows. Its verdict says whether the bound still
# holds there, and whether that may be chance.

after = path.measure(*later)
print(after.verdict(choice), after.verdict(sure), sep="\n\n")

# %%
# One draw says little about how often a bound is kept. Both paths in one picture show how much two draws of people can
# differ: the first chose the step, and the second shows the result.

fig, ax = plt.subplots(figsize=(7.2, 4.8), layout="constrained")
path.plot(ax=ax, name="selection rows", selection=sure)
_ = after.plot(ax=ax, name="people who came later", selection=sure)  # the same step, where it is now
