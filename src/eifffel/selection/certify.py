"""Which steps are certified, with confidence, to keep a bound for people who are not among the rows."""

import numpy as np

from eifffel.exceptions import InputError, parameter
from eifffel.selection.counts import PathCounts
from eifffel.selection.selection import KnownRows

# The error where all selection rows had a part in the edits.
NONE_APART = (
    "confidence={confidence:g} needs rows that had no part in the edits, and how several groups are weighed in this "
    "shift was fitted to features of all the {rows}. Trace with keep_apart=True, which keeps half of them for it "
    "(EiFFFeLClassifier does so if it has a confidence when it is fitted), ask on other rows, as in path.measure(X, y, "
    "sensitive_features).select(...), or take strategy='leaf'"
)


def certify(excess: np.ndarray, safest: int) -> np.ndarray:
    """Whether each step is certified to keep a bound, from the upper limit of what is in excess of it.

    Fixed-sequence testing (Learn then Test, Angelopoulos et al. 2021): from the ``safest`` step, by what is known
    without these rows, towards the original model; the first step whose limit exceeds 0 ends it. If some step breaks
    the bound, the first of those on the way must be passed by mistake before any of them can be certified, and that
    test errs no more often than 1 - confidence. So no share of that is lost however many steps there are, and any of
    the certified ones may be taken. Where several differences are bounded, each must pass its own test (an
    intersection-union test), and nothing is lost by that either.
    """
    certified = np.zeros(len(excess), bool)
    certified[: safest + 1] = np.maximum.accumulate(excess[safest::-1])[::-1] <= 0
    return certified


def check_certifiable(counts: PathCounts, confidence: float, rows: KnownRows) -> None:
    """Raise unless rows can say something about other people."""
    if rows.seen:
        why = (
            f"the model was trained on the {counts.rows} or some of them, as the numbers of rows in its leaves show"
            if rows.trained
            else f"leaves were scored by the {counts.rows}, or by half of them or more"
        )
        raise InputError(
            parameter("confidence")
            + f"={confidence:g} needs rows that neither trained the model nor scored its leaves, and {why}: "
            "what a model does to rows that it knows says little of other people. Hold rows out: select_on=(X, y, "
            "sensitive_features) in trace_path, select_on='validation' in EiFFFeLClassifier; of a model that is "
            "trained, give rows that it has not seen"
        )
    if counts.weighted:
        raise InputError(
            parameter("confidence")
            + f"={confidence:g} counts people, and the {counts.rows} have a sample_weight; leave the weights "
            "of these rows out, or leave confidence out"
        )
