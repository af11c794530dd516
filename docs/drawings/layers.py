"""The folders of eifffel, and the files at its top, in their layers: each imports only from below."""

import matplotlib.pyplot as plt

from test_layers import LAYERS

STAGES = {
    "commands": ("__main__", "cli"),
    "what users call": ("eifffel", "classifier", "_meta", "baselines", "report", "aware_trees", "export", "display"),
    "a path and a step": ("tracing", "path", "edits", "selection"),
    "leaves": ("strategies", "leaves", "ensembles", "kernels"),
    "what is compared": ("constraints", "comparison", "metrics", "intervals"),
    "rows": ("rows", "datasets"),
    "ground": ("_utils", "_version", "exceptions"),
}
COLORS = dict(zip(STAGES, plt.get_cmap("Set3").colors, strict=False))
stage_of = {part: stage for stage, parts in STAGES.items() for part in parts}

figure, ax = plt.subplots(figsize=(7.6, 5.2), layout="constrained")
for level, layer in enumerate(LAYERS):
    x = 0.0
    for part in layer:
        width = 0.32 + 0.125 * len(part)
        ax.add_patch(plt.Rectangle((x, -level - 0.4), width, 0.8, facecolor=COLORS[stage_of[part]], edgecolor="0.4"))
        ax.text(x + width / 2, -level, part, ha="center", va="center", fontsize=8, family="monospace")
        x += width + 0.12
handles = [plt.Rectangle((0, 0), 1, 1, facecolor=color, edgecolor="0.4") for color in COLORS.values()]
ax.legend(handles, list(COLORS), loc="upper right", frameon=False)
ax.annotate(
    "imports",
    (-0.45, -len(LAYERS) + 1),
    (-0.45, 0.2),
    ha="center",
    color="0.4",
    arrowprops={"arrowstyle": "->", "color": "0.4"},
)
ax.set(xlim=(-1.0, 8.5), ylim=(-len(LAYERS) + 0.3, 0.9))
ax.axis("off")
