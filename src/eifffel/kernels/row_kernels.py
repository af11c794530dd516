"""Loops over what rows hold, compiled: arrays in, arrays out.

Their slow, obvious twins are in ``tests/kernels/test_row_kernels.py``.
"""

import numpy as np

from eifffel.kernels.compiling import compiled

# 2**64 divided by the golden ratio, rounded to an odd number.
MIX = np.uint64(0x9E3779B97F4A7C15)


@compiled
def mix_rows(values, hashes):
    """Fill in the hash of each row of numbers, which are seen as float32; see `eifffel.rows.hashing`."""
    n_columns = values.shape[1]
    seen = np.empty(n_columns)
    bits = seen.view(np.uint64)
    for i in range(values.shape[0]):
        for j in range(n_columns):
            value = np.float64(np.float32(values[i, j])) + 0.0
            seen[j] = value if value == value else np.nan
        total = np.uint64(0)
        for j in range(n_columns):
            mixed = bits[j] ^ (np.uint64(j + 1) * MIX)
            mixed = (mixed ^ (mixed >> np.uint64(31))) * MIX
            mixed ^= mixed >> np.uint64(29)
            total += mixed if bits[j] != 0 else np.uint64(0)
        total = (total ^ (total >> np.uint64(32)) ^ MIX) * MIX
        hashes[i] = total ^ (total >> np.uint64(29))
