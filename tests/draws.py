"""Small problems for Hypothesis: coarse features, so that leaves mix labels and votes tie."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st
from sklearn.ensemble import BaggingClassifier, ExtraTreesClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from eifffel import FairnessPath, trace_path
from eifffel.constraints import Constraint, make_constraint
from eifffel.rows.coding import Rows
from eifffel.rows.groups import Groups


def two_groups(unprivileged: Any = 0, privileged: Any = 1) -> Groups:
    return Groups(((unprivileged, privileged),), ("",), privileged=(1,))


def roles(path: FairnessPath) -> tuple[Any, Any]:
    """The unprivileged and the privileged of two groups."""
    (unprivileged,) = set(path.groups) - {path.privileged}
    return unprivileged, path.privileged


def parity(groups: Groups | None = None) -> Constraint:
    """Demographic parity, of two groups unless others are given."""
    return make_constraint("demographic_parity", two_groups() if groups is None else groups)


def row_weights(rows: Rows) -> np.ndarray:
    """The weight of each row in the difference of two selection rates: one over the share of its group, signed."""
    share = [rows.weight[rows.group == g].sum() / rows.weight.sum() for g in (0, 1)]
    return np.where(rows.group == 1, 1 / share[1], -1 / share[0])


@dataclass
class Problem:
    X: np.ndarray
    y: np.ndarray
    s: np.ndarray
    model: Any
    favorable: int

    def trace(self, rows: Any = slice(None), **options: Any) -> FairnessPath:
        """The path with ``rows`` as scoring rows."""
        return trace_path(
            self.model,
            self.X[rows],
            self.y[rows],
            sensitive_features=self.s[rows],
            favorable=self.favorable,
            **options,
        )


def people(n_rows: int, seed: int, n_values: int = 4) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows of three coarse features whose labels favour group 1; each (group, label) cell has a row."""
    random = np.random.RandomState(seed)
    s = random.randint(0, 2, n_rows)
    X = random.randint(0, n_values, (n_rows, 3)).astype(float)
    X[:, 0] = np.round(X[:, 0] / 2 + s)
    y = (X[:, 0] + X[:, 1] + 2 * random.normal(size=n_rows) > n_values / 2 + 1).astype(int)
    s[:4], y[:4] = [0, 0, 1, 1], [0, 1, 0, 1]
    return X, y, s


@st.composite
def problems(draw, *, forests_only: bool = False) -> Problem:
    n_rows = draw(st.integers(12, 90))
    X, y, s = people(n_rows, draw(st.integers(0, 2**16)), draw(st.integers(2, 6)))
    seed = draw(st.integers(0, 2**16))
    depth = draw(st.sampled_from([None, 1, 2, 3, 5]))
    n_trees = draw(st.integers(1, 7))
    weight = draw(
        st.sampled_from([None, None, "balanced", {0: 1, 1: 3}, {0: 2.5, 1: 1.25}, {0: 0.1, 1: 0.3}, {1: 0.7}])
    )
    forest = {"max_depth": depth, "class_weight": weight, "random_state": seed, "n_jobs": 1}
    models = [
        RandomForestClassifier(n_trees, **forest),
        RandomForestClassifier(n_trees, bootstrap=False, max_features=1, **forest),
        ExtraTreesClassifier(n_trees, **forest),
        DecisionTreeClassifier(max_depth=depth, class_weight=weight, random_state=seed),
        BaggingClassifier(
            DecisionTreeClassifier(max_depth=depth, class_weight=weight), n_trees, max_features=0.7, random_state=seed
        ),
    ]
    model = draw(st.sampled_from(models[:3] if forests_only else models))
    return Problem(X, y, s, model.fit(X, y), favorable=draw(st.sampled_from([1, 1, 0])))
