"""All curves of a run, as the answers in its folder give them."""

import csv
import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from measures import Curve, read_base, read_curve
from methods import METHODS, RATES
from pictures import METRICS
from splits import task_file

from reproduction.protocol import FEATURES

# A case, and which features.
Where = tuple[str, str]


@dataclass(frozen=True, eq=False)
class Results:
    """Curves by case, features and method, and whether each method's model loads without its library."""

    curves: dict[Where, dict[str, Curve]]
    base: dict[Where, Curve]
    plain: dict[str, str]

    @classmethod
    def read(cls, folder: Path, cases: list[str], most_seeds: int | None) -> "Results":
        curves: dict[Where, dict[str, Curve]] = {}
        base = {}
        for where in ((case, features) for case in cases for features in FEATURES):
            tasks = {
                name: [task_file(folder, *where, seed) for seed in range(method.n_seeds(where[0], most_seeds))]
                for name, method in METHODS.items()
            }
            curves[where] = {name: read_curve(of_method, name) for name, of_method in tasks.items()}
            base[where] = read_base(max(tasks.values(), key=len))
        plain = {name: (folder / f"{name}.plain.txt").read_text().strip() for name in METHODS}
        return cls(curves, base, plain)

    def mean(self, name: str, what: Callable[[Curve], float]) -> float:
        """Of a method, over the cases."""
        return float(np.mean([what(of_method[name]) for of_method in self.curves.values()]))

    def to_csv(self) -> str:
        """Every setting's means, as comma-separated values."""
        file = io.StringIO()
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["data", "features", "method", "setting", "bound", "splits", "difference", "mean_size", *METRICS])
        for (case, features), of_method in self.curves.items():
            for name, curve in of_method.items():
                gaps = curve.gaps(RATES)[..., 0]
                gap, size = gaps.mean(axis=0), np.abs(gaps).mean(axis=0)
                values = [curve.metric(metric).mean(axis=0) for metric in METRICS]
                for place, (setting, bound) in enumerate(zip(curve.settings, curve.bounds, strict=True)):
                    bound_shown = "" if bound is None else f"{bound:g}"
                    means = [f"{value[place]:.4f}" for value in (gap, size, *values)]
                    rows.writerow([case, features, METHODS[name].title, setting, bound_shown, curve.n_splits, *means])
        return file.getvalue()
