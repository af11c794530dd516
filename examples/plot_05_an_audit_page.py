"""
An audit page
=============

This example turns a model, and rows that it has not seen, into a page for others and the tables that auditors ask for.
It then makes the same tables from decisions of people, without any model.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier

from eifffel import EiFFFeLClassifier
from eifffel.datasets import make_biased_classification
from eifffel.report import render_markdown, render_table, save_report, summarize, summarize_decisions


def draw_people(n, seed):
    drawn = make_biased_classification(n, random_state=seed)
    table = pd.DataFrame(drawn.data, columns=drawn.feature_names)
    return table, drawn.target, np.where(drawn.sensitive == 1, "man", "woman")


# %%
# :class:`~eifffel.EiFFFeLClassifier` trains a forest, and chooses a step on a quarter of the rows, which it holds out.
# We audit it on people who came later.

table, granted, gender = draw_people(8000, seed=0)
forest = RandomForestClassifier(50, min_samples_leaf=5, random_state=0)
clf = EiFFFeLClassifier(forest, epsilon=0.05, confidence=0.95, random_state=0)
clf.fit(table, granted, sensitive_features=gender)
table, granted, gender = draw_people(8000, seed=1)

# %%
# A report consists of plain data, counts and rates, and contains no rows of people.

about = {"owner": "credit team", "intended_use": "first look at loans", "data_source": "drawn by eifffel"}
words = {"rows": "later applicants", "about": about}
named = {"sensitive_name": "gender", "favorable_name": "granted"}
summary = summarize(clf, table, granted, sensitive_features=gender, **named, **words)
print(summary.verdict.heading, summary.verdict.sentence, sep="\n")

# %%
# The page
# --------
# The page is one HTML file that needs no network, with a slider over every bound. A name that ends in ``.md`` or
# ``.json`` writes the same without pictures. These are its parts:

with tempfile.TemporaryDirectory() as folder:
    save_report(summary, Path(folder) / "audit.html")
    size = (Path(folder) / "audit.html").stat().st_size
print(f"audit.html, {size / 1e6:.1f} MB:")
print(*(line for line in render_markdown(summary).splitlines() if line.startswith("## ")), sep="\n")

# %%
# The four-fifths table
# ---------------------
# Every ratio has an interval and a p-value. Four fifths is a rule of thumb, and proves nothing.

print(render_table(summary, "four-fifths"))

# %%
# Decisions without a model
# -------------------------
# The labels of these data are decisions of people. We audit them without a model, by two attributes and their
# intersection, in the layout of New York City's Local Law 144.

age = np.where(table["age"] < 40, "under 40", "40 or more")
decided = np.where(granted == 1, "granted", "refused")
groups = {"gender": gender, "age": age}
by_people = summarize_decisions(decided, sensitive_features=groups, favorable="granted", **words)
print(render_table(by_people, "ll144"))

# %%
# The picture summarises the page. It compares three ways of deciding about the same later applicants: by people, by the
# forest, and by the edited forest. Bars are 95% intervals, and the band is the bound. The edit brings the rates
# together by granting more loans to women and fewer to men. Measured by the labels, which are the decisions on the
# left, that costs the accuracy that the verdict names.

past = summarize_decisions(decided, sensitive_features=gender, favorable="granted")
ways = {"people": (past, "after"), "forest": (summary, "before"), "edited forest": (summary, "after")}
found = {"woman": [], "man": [], "difference": []}
for told, when in ways.values():
    for group in told.groups:
        found[group.name].append(getattr(group, when).selection_rate)
    found["difference"].append(getattr(told.overall, when).discrimination)

fig, (left, right) = plt.subplots(1, 2, figsize=(8, 4.2), layout="constrained")
for ax, name, look, shift in (
    (left, "woman", "oC1", -0.07),
    (left, "man", "^C0", 0.07),
    (right, "difference", "sk", 0),
):
    value, low, high = np.transpose([(number.value, number.low, number.high) for number in found[name]])
    ax.errorbar(np.arange(3) + shift, value, (value - low, high - value), fmt=look, capsize=4, label=name)
    ax.set_xticks(range(3), ways)
    ax.set_xlim(-0.5, 2.5)
left.set(title="rate of favourable decisions", ylim=(0, None))
left.legend(loc="lower right")
right.axhspan(-0.05, 0.05, color="#009e73", alpha=0.15)
_ = right.set_title("rate of men minus rate of women")
