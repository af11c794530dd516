"""When a bound counts as met."""

from dataclasses import replace

import pytest

pytest.importorskip("pandas")
for library in ("typer", "skops"):
    pytest.importorskip(library)

from eifffel.cli._editing import Edited  # noqa: E402
from eifffel.selection import Selection  # noqa: E402

MET = Selection(1, True, 0.05, 0.8, 0.01, (0.4, 0.45), 0.05, None, "first", "selection rows", "selection rows")


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
    verdict = {"holds": holds, "certain": certain}
    assert Edited(None, None, replace(MET, met=chosen), {"verdict": verdict}).met is met
