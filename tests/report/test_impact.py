"""Impact ratios: what they are, what they are compared with, and what is not shown of few people."""

import re
from dataclasses import replace
from fractions import Fraction
from importlib.util import find_spec
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eifffel.intervals import ratio_interval
from eifffel.report import render_table, summarize_decisions
from eifffel.report._impact import find_partitions, measure_impact
from eifffel.rows.coding import Rows
from eifffel.rows.groups import make_groups
from eifffel.rows.sensitive import ColumnValues
from eifffel.rows.small_counts import FEWEST

needs_templates = pytest.mark.skipif(find_spec("jinja2") is None, reason="Markdown comes from templates")
SIZES = st.lists(st.integers(0, 40), min_size=6, max_size=6).filter(lambda sizes: sum(sizes) > 0)


def fisher(a, n, b, m):
    """Two-sided, by the sum over all tables with the same margins that are no likelier."""
    ways = [comb(n, k) * comb(m, a + b - k) for k in range(max(0, a + b - m), min(n, a + b) + 1)]
    own = comb(n, a) * comb(m, b)
    return sum(way for way in ways if way <= own) / sum(ways)


def grouped(sizes, combine):
    """Groups of two columns, and the rows."""
    columns = [ColumnValues("sex", ["f", "m"], False), ColumnValues("race", ["a", "b", "c"], False)]
    code = np.repeat(np.arange(6), sizes).astype(np.uint8)
    return make_groups(columns, combine=combine), Rows(code, None, np.ones(len(code), np.int64), 1, 6)


@settings(deadline=None)
@given(SIZES, st.sampled_from(["each", "intersection"]), st.integers(0, 5))
def test_categories_are_counted_and_compared_with_the_highest(sizes, combine, seed):
    groups, whole = grouped(sizes, combine)
    inside = groups.find_described(np.array(sizes))[whole.group]
    rows = replace(whole, weight=whole.weight * inside)
    chosen = np.random.default_rng(seed).random(len(rows.group)) < 0.5
    impact = measure_impact(groups, whole, rows, chosen, None, "", tell_few=False)
    assert impact.scoring is None
    assert impact.without_group == 0
    assert all(table.unknown == 0 for table in impact.selection)
    sex, race = rows.group // 3, rows.group % 3
    members = [
        {name: sex == k for k, name in enumerate("fm")},
        {name: race == k for k, name in enumerate("abc")},
        {f"{a}, {b}": (sex == i) & (race == j) for i, a in enumerate("fm") for j, b in enumerate("abc")},
    ]
    for table, of_name in zip(impact.selection, members, strict=True):
        shown = [c for c in table.categories if c.rows is not None]
        assert {c.name for c in table.categories} == {name for name, who in of_name.items() if who.any()}
        for c in table.categories:
            who = of_name[c.name]
            if c.rows is None:
                assert c.small == (who.sum() < 0.02 * len(who))
                assert c.few == (who.sum() < FEWEST)
                assert c.rate.value is c.chosen is c.share is c.ratio.value is c.p_value is None
                continue
            who = who & inside
            assert c.small == (who.sum() < 0.02 * inside.sum())
            assert (c.rows, c.chosen) == (who.sum(), chosen[who].sum())
            assert c.rate.value == chosen[who].mean()
            assert c.share == who.sum() / inside.sum()
        large = [c for c in shown if not c.small] or shown
        if not shown:
            continue
        if len(shown) == 1:
            assert not shown[0].highest
            assert shown[0].ratio.value is None
            continue
        highest = max(large, key=lambda c: c.rate.value)
        marked = [c for c in table.categories if c.highest]
        if highest.chosen == 0:
            assert not marked
            assert all(c.ratio.value is c.below is None for c in shown)
            continue
        assert len(marked) == 1
        assert marked[0].rate.value == highest.rate.value
        for c in shown:
            exact = Fraction(c.chosen, c.rows) / Fraction(highest.chosen, highest.rows)
            assert c.below == (exact < Fraction(4, 5))
            assert c.ratio.value == pytest.approx(c.rate.value / highest.rate.value)
            if c is marked[0]:
                assert (c.ratio.low, c.p_value) == (None, None)
                continue
            counts = c.chosen, c.rows, marked[0].chosen, marked[0].rows
            assert (c.ratio.low, c.ratio.high) == ratio_interval(*counts)
            assert c.p_value == pytest.approx(fisher(*counts), abs=1e-9)


def sums_of(vectors, rows):
    """Which of the vectors are combinations of the rows: the rank of these does not grow by one of them."""
    rank = np.linalg.matrix_rank(rows) if len(rows) else 0
    return [np.linalg.matrix_rank(np.vstack([rows, vector[None]])) == rank for vector in vectors]


@settings(deadline=None, max_examples=300)
@given(SIZES, st.sampled_from(["each", "intersection"]))
def test_no_fewer_than_ten_people_can_be_derived_from_what_is_shown(sizes, combine):
    groups, _ = grouped(sizes, combine)
    whole = np.array(sizes)
    size = whole * groups.find_described(whole)
    *singly, _ = parts = find_partitions(groups, size, whole)
    cells, margins = np.eye(6, dtype=int), np.concatenate([part.attribute.members for part in singly]).astype(int)
    # What the report's own table of groups shows is shown here too.
    in_report = cells if combine == "intersection" else np.concatenate([margins, cells[size == 0]])
    shown = np.concatenate([part.attribute.members[~part.hidden] for part in parts]).astype(int)
    few = (size > 0) & (size < FEWEST)
    sets = np.concatenate([cells, margins, margins * few, few[None]])
    secret = sets[(sets @ size > 0) & (sets @ size < FEWEST)]
    assert not any(sums_of(secret, np.concatenate([in_report, shown])))
    for part in parts:
        assert part.hidden[(part.whole > 0) & (part.attribute.members @ size < FEWEST)].all()
        # And nothing else could be shown.
        for vector in part.attribute.members[part.hidden & (part.attribute.members @ size >= FEWEST)].astype(int):
            assert any(sums_of(secret, np.concatenate([in_report, shown, vector[None]])))


def test_of_a_hidden_cell_as_many_others_as_it_takes_are_hidden():
    groups, _ = grouped([5, 60, 70, 200, 300, 400], "each")
    size = np.array([5, 60, 70, 200, 300, 400])
    *_, at_once = find_partitions(groups, size, size)
    # f, a is all of f less f, b and f, c; or all of a less m, a. So m, a is not shown, nor one of f, b and f, c; of
    # these the smaller, f, b, and with it m, b, from which it could be reckoned.
    assert at_once.hidden.tolist() == [True, True, False, True, True, False]


def test_the_median_is_of_those_who_are_described():
    sex = np.array(["f"] * 5 + ["m"] * 50 + ["x"] * 60)
    impact = summarize_decisions(np.arange(115) % 2, sensitive_features=sex, scores=np.arange(115)).impact
    assert impact.scoring.median == np.median(np.arange(5, 115))
    for table in (impact.scoring.tables[0], impact.selection[0]):
        assert [c.rows for c in table.categories] == [None, 50, 60]


def test_where_half_of_all_are_above_the_median_a_second_category_is_hidden():
    size = np.array([5, 60, 70, 200, 300, 400])
    groups, _ = grouped(size.tolist(), "each")
    hidden = np.array([True, False, False, False, False, False])
    part = replace(find_partitions(groups, size, size)[-1], hidden=hidden)
    assert part.hide_second(size).hidden.tolist() == [True, True, False, False, False, False]
    few = summarize_decisions([0, 1] * 4, sensitive_features=["f", "m"] * 4, scores=range(8), min_group_rows=0)
    assert few.impact.scoring is None, "no median of eight people is shown"


@needs_templates
@pytest.mark.parametrize(("missing", "where"), [("drop", "In no table"), ("own-group", "Not compared by groups")])
def test_of_fewer_than_ten_people_without_a_group_the_number_is_not_shown(missing, where):
    sex = np.array(["f"] * 50 + ["m"] * 50 + [None] * 7, object)
    given = {"sensitive_features": sex, "missing": missing, "sensitive_name": "groups", "min_group_rows": 0}
    shown = summarize_decisions(np.arange(107) % 2, **given)
    impact = shown.impact
    assert (impact.without_group if missing == "drop" else impact.selection[0].unknown) is None
    for name in ("four-fifths", "ll144"):
        table = render_table(shown, name)
        assert "7" not in re.findall(r"\b\d+\b", table.partition("Measured on")[0])
        assert "&lt;10" in table or f"{where}: fewer than ten people" in table
    few = summarize_decisions(np.arange(107) % 2, **given, tell_few=True).impact
    assert {few.without_group, few.selection[0].unknown} == {0, 7}


def test_people_without_a_group_are_counted_and_not_compared():
    sex = np.array(["f"] * 50 + ["m"] * 50 + [None] * 20, object)
    hired = np.arange(120) % 2
    dropped = summarize_decisions(hired, sensitive_features=sex, missing="drop").impact
    assert dropped.without_group == 20
    assert [c.name for c in dropped.selection[0].categories] == ["m", "f"], "of equal rates the first is privileged"
    own = summarize_decisions(hired, sensitive_features=sex, missing="own-group").impact
    assert own.selection[0].unknown == 20
    known = [(c.name, c.unknown, c.share, c.highest) for c in own.selection[0].categories]
    assert known == [("f", False, 0.5, True), ("m", False, 0.5, False), ("(missing)", True, None, False)]
    race = np.array(["a", "b"] * 60, object)
    race[:15] = None
    both = {"sex": sex, "race": race}
    own = summarize_decisions(hired, sensitive_features=both, missing="own-group").impact.selection
    assert [table.unknown for table in own] == [20, 15, 35], "each table leaves out those that it does not know"
    dropped = summarize_decisions(hired, sensitive_features=both, missing="drop").impact
    assert dropped.without_group == 35
    assert [table.unknown for table in dropped.selection] == [0, 0, 0]


def test_scores_above_the_median_are_counted():
    score = np.array([5.0] * 10 + [1.0] * 20 + [3.0] * 10 + [9.0] * 20)
    sex = np.array(["f"] * 30 + ["m"] * 30)
    impact = summarize_decisions(score > 4, sensitive_features=sex, scores=score).impact
    assert impact.scoring.median == 4.0, "between 3 and 5"
    women, men = impact.scoring.tables[0].categories
    assert (women.chosen, men.chosen) == (10, 20)
    assert women.ratio.value == 0.5
