"""Two parts of rows: one in which to look for something, and one, which had no say in it, to test what was found."""

import numpy as np

# Any number would do; another one draws other parts.
SEED = np.uint64(0x5851F42D4C957F2D)
# 2**64 divided by the golden ratio, rounded to an odd number, and the two factors of SplitMix64.
STEP = np.uint64(0x9E3779B97F4A7C15)
FIRST_FACTOR, SECOND_FACTOR = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def draw_searched(start: int, n_rows: int) -> np.ndarray:
    """Which of some rows are in the part that is searched, about half of them; the others test what was found.

    A coin is thrown for each place in the table, whatever row stands there. Rows that are drawn independently of each
    other so become two parts that are independent of each other, also where many rows are equal or the table is sorted.

    Parameters
    ----------
    start : int
        The place of the first of them among all rows, so that parts do not depend on how these are cut into batches.
    n_rows : int

    Returns
    -------
    ndarray of bools

    Examples
    --------
    >>> from eifffel.rows.parts import draw_searched
    >>> whole = draw_searched(0, 1000)
    >>> int(whole.sum()), bool((draw_searched(400, 600) == whole[400:]).all())
    (479, True)
    """
    # SplitMix64 (Steele, Lea and Flood 2014), modulo 2^64:
    #   a = SEED + (place + 1) * STEP
    #   b = (a ^ (a >> 30)) * FIRST_FACTOR
    #   c = (b ^ (b >> 27)) * SECOND_FACTOR
    # The coin is the highest bit of c ^ (c >> 31), which is that of c.
    place = np.arange(start + 1, start + 1 + n_rows, dtype=np.uint64)
    mixed = SEED + place * STEP
    mixed = (mixed ^ (mixed >> np.uint64(30))) * FIRST_FACTOR
    mixed = (mixed ^ (mixed >> np.uint64(27))) * SECOND_FACTOR
    return mixed >> np.uint64(63) == 1
