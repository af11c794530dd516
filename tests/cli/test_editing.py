"""When a bound counts as met."""

from dataclasses import replace

import pytest

pytest.importorskip("pandas")
for library in ("typer", "skops"):
    pytest.importorskip(library)

from eifffel.cli._editing import Edited  # noqa: E402
from eifffel.report import summarize_decisions  # noqa: E402
from eifffel.selection.bounds import Bounds  # noqa: E402
from eifffel.selection.selection import Selection  # noqa: E402

MET = Selection(
    step=1,
    met=True,
    discrimination=0.05,
    accuracy=0.8,
    accuracy_drop=0.01,
    pair=("m", "f"),
    directed=True,
    rate_ratio=0.4 / 0.45,
    selection_rates=(0.4, 0.45),
    constraint="demographic_parity",
    bounds=Bounds(epsilon=0.05),
    discrimination_rows="selection rows",
    accuracy_rows="selection rows",
    n_rows=(100, 100),
    n_discrimination_rows=200,
    hidden=(False, False),
    left_out=(),
    n_accuracy_rows=200,
    interval=(-0.08, 0.18),
    original=(0.1, 0.3),
    lower=None,
    upper=None,
    objective_value=0.8,
    objective_drop=0.01,
    path="of some path",
    trained=False,
    overlap=0.0,
    repeats=1,
)


@pytest.mark.parametrize(
    ("chosen", "holds", "certain", "met"),
    [
        (True, True, True, True),
        (True, True, False, True),
        (True, False, False, True),  # a little outside, as chance has it
        (True, False, True, False),
        (False, True, True, False),
        (False, False, True, False),
    ],
)
def test_met_where_chosen_and_not_broken_beyond_chance(chosen, holds, certain, met):
    made = summarize_decisions([1, 0] * 20, sensitive_features=["f", "f", "m", "m"] * 10)
    made = replace(made, verdict=replace(made.verdict, holds=holds, certain=certain))
    assert Edited(None, None, replace(MET, met=chosen), made).met is met
