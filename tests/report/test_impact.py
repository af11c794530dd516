"""Impact ratios: what they are, what they are compared with, and what is not told of few people."""

from math import comb

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from eifffel.coding import Rows
from eifffel.constraints import make_constraint
from eifffel.groups import FEWEST, make_groups
from eifffel.intervals import ratio_interval
from eifffel.report import summarize_decisions
from eifffel.report._impact import find_partitions, measure_impact
from eifffel.values import Values

SIZES = st.lists(st.integers(0, 40), min_size=6, max_size=6).filter(lambda sizes: sum(sizes) > 0)


def fisher(a, n, b, m):
    """Two-sided, by the sum over all tables with the same margins that are no likelier."""
    ways = [comb(n, k) * comb(m, a + b - k) for k in range(max(0, a + b - m), min(n, a + b) + 1)]
    own = comb(n, a) * comb(m, b)
    return sum(way for way in ways if way <= own) / sum(ways)


def grouped(sizes, combine):
    """Groups of two columns, those of them that are bounded, and the rows."""
    columns = [Values("sex", ["f", "m"], False), Values("race", ["a", "b", "c"], False)]
    groups = make_groups(columns, combine=combine)
    code = np.repeat(np.arange(6), sizes).astype(np.uint8)
    rows = Rows(code, None, np.ones(len(code), np.int64), 1, 6)
    constraint = make_constraint("demographic_parity", groups, min_group_rows=12)
    try:
        return groups, constraint.on_rows(rows.count_cells(), rows="these rows"), rows
    except ValueError:  # nobody is left to be bounded
        return reject()


@settings(deadline=None)
@given(SIZES, st.sampled_from(["each", "intersection"]), st.integers(0, 5))
def test_categories_are_counted_and_compared_with_the_highest(sizes, combine, seed):
    groups, constraint, rows = grouped(sizes, combine)
    chosen = np.random.default_rng(seed).random(len(rows.group)) < 0.5
    impact = measure_impact(groups, constraint, rows, chosen, None, None)
    assert impact["scoring"] is None
    assert impact["unknown"] == 0
    sex, race = rows.group // 3, rows.group % 3
    members = [
        {name: sex == k for k, name in enumerate("fm")},
        {name: race == k for k, name in enumerate("abc")},
        {f"{a}, {b}": (sex == i) & (race == j) for i, a in enumerate("fm") for j, b in enumerate("abc")},
    ]
    for table, of_name in zip(impact["selection"], members, strict=True):
        told = [c for c in table["categories"] if c["rows"] is not None]
        assert {c["name"] for c in table["categories"]} == {name for name, who in of_name.items() if who.any()}
        for c in table["categories"]:
            who = of_name[c["name"]]
            assert c["small"] == (who.sum() < 0.02 * len(who))
            if c["rows"] is None:
                assert c["rate"]["value"] is c["chosen"] is c["share"] is c["ratio"]["value"] is c["p_value"] is None
                continue
            assert (c["rows"], c["chosen"]) == (who.sum(), chosen[who].sum())
            assert c["rate"]["value"] == chosen[who].mean()
            assert c["share"] == who.mean()
        large = [c for c in told if not c["small"]] or told
        if not told:
            continue
        highest = max(large, key=lambda c: c["rate"]["value"])
        marked = [c for c in table["categories"] if c["highest"]]
        assert len(marked) == 1
        assert marked[0]["rate"]["value"] == highest["rate"]["value"]
        for c in told:
            if marked[0]["chosen"] == 0:
                assert c["ratio"]["value"] is None
                continue
            assert c["ratio"]["value"] == pytest.approx(c["rate"]["value"] / highest["rate"]["value"])
            if c is marked[0]:
                assert (c["ratio"]["low"], c["p_value"]) == (None, None)
                continue
            counts = c["chosen"], c["rows"], marked[0]["chosen"], marked[0]["rows"]
            assert (c["ratio"]["low"], c["ratio"]["high"]) == ratio_interval(*counts)
            assert c["p_value"] == pytest.approx(fisher(*counts), abs=1e-9)


@settings(deadline=None)
@given(SIZES, st.sampled_from(["each", "intersection"]))
def test_no_fewer_than_ten_people_are_what_sums_leave_over(sizes, combine):
    groups, constraint, _ = grouped(sizes, combine)
    size = np.array(sizes)
    *singly, at_once = find_partitions(groups, constraint, size)
    assert at_once.hidden[(size > 0) & (size < FEWEST)].all()
    for part in singly:
        members = part.attribute.members
        for cells in members[~part.hidden]:
            assert size[cells].sum() == 0 or size[cells].sum() >= FEWEST
            left_over = size[cells & at_once.hidden].sum()
            assert left_over == 0 or left_over >= FEWEST
        others = members[part.hidden].any(axis=0)  # known as one, where others are told
        left_over = size[others & at_once.hidden].sum()
        nothing_else = not (others & ~at_once.hidden & (size > 0)).any()
        assert left_over == 0 or left_over >= FEWEST or nothing_else or part.hidden.all()
    if combine == "each":
        for k, part in enumerate(singly):  # the same as in the report's table of groups
            own = groups.find_hidden(groups.count_people(size), constraint.find_bounded(groups))
            np.testing.assert_array_equal(part.hidden, own[groups.attribute_of == k])
    else:
        own = groups.find_hidden(size, constraint.find_bounded(groups))
        np.testing.assert_array_equal(at_once.hidden, own)


def test_people_without_a_group_are_counted_and_not_compared():
    sex = np.array(["f"] * 50 + ["m"] * 50 + [None] * 20, object)
    hired = np.arange(120) % 2
    dropped = summarize_decisions(hired, sensitive_features=sex, missing="drop")["impact"]
    assert dropped["unknown"] == 20
    assert [c["name"] for c in dropped["selection"][0]["categories"]] == ["f", "m"]
    own = summarize_decisions(hired, sensitive_features=sex, missing="own-group")["impact"]
    assert own["unknown"] == 20
    known = [(c["name"], c["unknown"], c["share"], c["highest"]) for c in own["selection"][0]["categories"]]
    assert known == [("f", False, 0.5, True), ("m", False, 0.5, False), ("(missing)", True, None, False)]
    few = summarize_decisions(hired[:105], sensitive_features=sex[:105], missing="drop")["impact"]
    assert few["unknown"] is None, "five people"


def test_scores_above_the_median_are_counted():
    score = np.array([5.0] * 10 + [1.0] * 20 + [3.0] * 10 + [9.0] * 20)
    sex = np.array(["f"] * 30 + ["m"] * 30)
    impact = summarize_decisions(score > 4, sensitive_features=sex, scores=score)["impact"]
    assert impact["scoring"]["median"] == 4.0, "between 3 and 5"
    women, men = impact["scoring"]["tables"][0]["categories"]
    assert (women["chosen"], men["chosen"]) == (10, 20)
    assert women["ratio"]["value"] == 0.5
