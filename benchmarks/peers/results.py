"""All curves of a run, as the answers in its folder give them."""

import csv
import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from measures import Curve, read_base, read_curve
from methods import METHODS, RATES, Contest
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
    def read(cls, folder: Path, contest: Contest) -> "Results":
        curves: dict[Where, dict[str, Curve]] = {}
        base = {}
        for where in ((case, features) for case in contest.cases for features in FEATURES):
            tasks = {
                name: [task_file(folder, *where, seed) for seed in contest.seeds(name, where[0])]
                for name in contest.methods
            }
            curves[where] = {name: read_curve(of_method, name) for name, of_method in tasks.items()}
            base[where] = read_base(max(tasks.values(), key=len))
        tried = {name: folder / f"{name}.plain.txt" for name in contest.methods}
        plain = {name: file.read_text().strip() for name, file in tried.items() if file.exists()}
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
