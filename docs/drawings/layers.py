"""The modules of eifffel in their layers: each imports only from below."""

import matplotlib.pyplot as plt

from test_layers import LAYERS

STAGES = {
    "commands": ("__main__", "cli"),
    "experiments": ("experiments",),
    "what users call": (
        *("eifffel", "classifier", "baselines", "report", "dask", "splitting", "_meta", "tracing", "storage"),
        *("export", "display", "path", "native", "loaded"),
    ),
    "a path and a step": (
        *("edits", "record", "verdict", "measuring", "rules", "selection", "selecting", "advice", "path_counts"),
        *("shortfall", "telling", "objective", "bounds"),
    ),
    "leaves": ("strategies", "leaves.scoring", "leaves.counting", "leaves.training", "leaves.placing", "ensembles"),
    "rows": (
        *("rows.reading", "rows.parquet", "rows.columns", "rows.coding", "rows.kinds", "rows.survey", "rows.batches"),
        *("rows.groups", "rows.labels", "rows.sensitive", "rows.few", "datasets"),
    ),
    "ground": ("constraints", "comparison", "metrics", "intervals", "exceptions"),
}
COLORS = dict(zip(STAGES, plt.get_cmap("Set3").colors, strict=False))
stage_of = {module: stage for stage, modules in STAGES.items() for module in modules}

figure, ax = plt.subplots(figsize=(7.6, 7.2), layout="constrained")
for level, layer in enumerate(LAYERS):
    x = 0.0
    for module in layer:
        color = COLORS["ground" if module.startswith("_") else stage_of[module]]
        width = 0.32 + 0.115 * len(module)
        ax.add_patch(plt.Rectangle((x, -level - 0.4), width, 0.8, facecolor=color, edgecolor="0.4"))
        ax.text(x + width / 2, -level, module, ha="center", va="center", fontsize=8, family="monospace")
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
ax.set(xlim=(-1.0, 9.5), ylim=(-len(LAYERS) + 0.3, 0.9))
ax.axis("off")
