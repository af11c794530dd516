"""Each kernel against a slow, obvious twin."""

import struct

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from eifffel.kernels import row_kernels

VALUES = np.array([0, -0.0, 1, -1, 0.1, 1e300, -np.inf, np.nan, -np.nan, 2.0**24 + 1, 1e-310])


def mix_slowly(row):
    """The formulas of `eifffel.rows.hashing` in Python's own whole numbers."""
    size, factor, total = 2**64, int(row_kernels.MIX), 0
    for place, value in enumerate(row):
        with np.errstate(over="ignore"):
            value = float(np.float32(value))
        if value == 0:
            continue
        bits = struct.unpack("<Q", struct.pack("<d", value if value == value else float("nan")))[0]
        mixed = bits ^ ((place + 1) * factor % size)
        mixed = (mixed ^ (mixed >> 31)) * factor % size
        total += mixed ^ (mixed >> 29)
    total %= size
    total = (total ^ (total >> 32) ^ factor) * factor % size
    return total ^ (total >> 29)


@settings(max_examples=100, deadline=None)
@given(
    seed=st.integers(0, 2**20),
    n_columns=st.integers(1, 12),
    kind=st.sampled_from([np.float32, np.float64]),
    order=st.sampled_from("CF"),
)
def test_mix_rows_mixes_the_bits_of_each_value(seed, n_columns, kind, order):
    random = np.random.RandomState(seed)
    drawn = np.where(random.rand(9, n_columns) < 0.5, random.choice(VALUES, (9, n_columns)), random.normal(size=(9, 1)))
    with np.errstate(over="ignore"):
        values = np.array(drawn, kind, order=order)
    hashes = np.empty(9, np.uint64)
    row_kernels.mix_rows(values, hashes)
    assert hashes.tolist() == [mix_slowly(row) for row in values]
