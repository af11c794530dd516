"""Which rows do what."""

import matplotlib.pyplot as plt

BOXES = (
    ("training rows", "train the model\nand score its leaves", 0.0, "C0"),
    ("selection rows", "choose the step,\ncertify the bound", 3.2, "C2"),
    ("test rows", "tell what came\nof it, once", 6.4, "C1"),
)
figure, ax = plt.subplots(figsize=(7.6, 2.0), layout="constrained")
for name, does, x, color in BOXES:
    ax.text(
        x + 1.2,
        1.15,
        name,
        ha="center",
        va="center",
        weight="bold",
        color="white",
        bbox={"boxstyle": "round,pad=0.5", "facecolor": color, "edgecolor": "none"},
    )
    ax.text(x + 1.2, 0.3, does, ha="center", va="center")
for x, what in ((2.55, "order of flips"), (5.75, "edited model")):
    ax.annotate("", (x + 0.75, 1.15), (x - 0.25, 1.15), arrowprops={"arrowstyle": "->", "color": "0.4"})
    ax.text(x + 0.25, 1.45, what, ha="center", color="0.4", fontsize=8)
ax.set(xlim=(-0.1, 8.9), ylim=(-0.1, 1.8))
ax.axis("off")
