"""Rows on which a table of trees and its library may part: at thresholds and beside them, missing, huge, unseen."""

import numpy as np

# What counts as 0 for LightGBM ends here.
NEAR_ZERO = [
    0.0,
    -0.0,
    1e-35,
    -1e-35,
    1e-38,
    -1e-38,
    1e-45,
    -1e-45,
    float(np.float32(1e-35)),
    -float(np.float32(1e-35)),
]
ODD = [-1.0, -0.5, 0.5, 1.5, 3.0, 7.9, 40.0, 255.0, 256.0, 300.0, 2.0**24, 2.0**31, -(2.0**31), 1e30, -1e30]


def beside(values, kind):
    """Values and their neighbours in a type."""
    values = np.asarray(values, kind)
    with np.errstate(over="ignore"):
        return np.concatenate([values, np.nextafter(values, kind(np.inf)), np.nextafter(values, kind(-np.inf))])


def probe(view, rows, *, missing=True, seed=0):
    """Rows of a table of numbers in which one value at a time, or all, are such that a comparison may go wrong."""
    random = np.random.RandomState(seed)
    table, rows = view.table, np.asarray(rows, np.float64)
    taken = [rows]
    numeric = table.inner & ~table.by_category
    for feature in range(rows.shape[1]):
        cuts = np.unique(table.threshold[numeric & (table.feature == feature)]).astype(np.float64)
        if len(cuts) > 60:
            cuts = random.choice(cuts, 60, replace=False)
        with np.errstate(over="ignore"):
            near = [beside(cuts, np.float64), beside(cuts, np.float32), beside(NEAR_ZERO, np.float64), ODD]
        values = np.concatenate([part.astype(np.float64) if len(part) else part for part in map(np.asarray, near)])
        values = np.append(values[np.abs(values) < 3e38], np.nan if missing else 0.0)
        drawn = rows[random.randint(len(rows), size=len(values))].copy()
        drawn[:, feature] = values
        taken.append(drawn)
    mixed = np.concatenate(taken)
    shuffled = np.column_stack([random.permutation(column) for column in mixed.T])
    return np.concatenate([mixed, shuffled])


def check_leaves(view, rows):
    """The leaves of rows by the table are those by the library."""
    checked = view._check_rows(rows)
    expected = view._library_leaves(checked, n_jobs=1, verbose=0)
    found = view._table_leaves(checked, n_jobs=1, verbose=0)
    assert found is not None, "the library must be asked in place of the table"
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)
