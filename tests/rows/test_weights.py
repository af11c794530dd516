"""Sample weights: what is counted, and how far apart they may be."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

from draws import people, roles
from eifffel import trace_path
from eifffel.metrics import measure
from eifffel.rows.coding import Coding
from eifffel.rows.groups import read_groups
from eifffel.rows.survey import WeightScale, common_divisor

MOST = 2**62  # units that all rows may weigh together
mantissas, exponents = st.integers(1, 2**53 - 1), st.integers(-80, 80)
positive = st.builds(lambda whole, power: float(np.ldexp(float(whole), power)), mantissas, exponents)
X, y, s = people(40, seed=0)
TREE = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y)


def count(weight):
    """The weights in units, and what a unit is, as all passes over rows count them."""
    n_rows = len(weight)
    groups = np.arange(n_rows) % 2
    coding = Coding(np.array([0, 1]), 1, read_groups(np.array([0, 1])))
    rows = coding.encode(groups[:, None], groups, groups, weight, rows="the rows", whole=False)
    return rows.weight.tolist(), Fraction(rows.unit)


def finest(largest, n_rows):
    """The smallest power of two of which all rows together have no more than they may."""
    power = Fraction(2) ** -1200
    while largest * n_rows / power > MOST:
        power *= 2
    return power


@settings(max_examples=300)
@example([3.0, 3.0 * 2**61])  # which three divides, and no power of two of those that would do
@given(st.lists(st.one_of(st.just(0.0), positive, st.floats(0.5, 10)), min_size=2, max_size=8).filter(any))
def test_weights_are_counted_to_within_a_thousandth_or_refused(weights):
    exact = [Fraction(weight) for weight in weights]
    together, least = max(exact) * len(exact), 500 * finest(max(exact), len(exact))
    as_they_are = together / Fraction(common_divisor(np.array(weights))) <= MOST
    if not as_they_are and min(filter(None, exact)) < least:
        with pytest.raises(ValueError, match=r"sample_weight of the rows ranges from .* beside weights that large"):
            count(np.array(weights))
        return
    units, unit = count(np.array(weights))
    assert sum(units) < 2**63
    if len(set(filter(None, exact))) == 1:  # weights that are all the same only say which rows count
        assert (units, unit) == ([int(weight > 0) for weight in exact], 1)
        return
    for weight, whole in zip(exact, units, strict=True):
        assert abs(whole * unit - weight) <= (0 if as_they_are else weight / 1000)


@settings(max_examples=100)
@given(positive, st.integers(2, 10_000))
def test_the_limit_is_where_it_is_said_to_be(largest, n_rows):
    unit = float(finest(Fraction(largest), n_rows))
    least = 500 * unit
    below = float(np.nextafter(least, 0))
    WeightScale(least, largest, unit / 2, n_rows).check("the rows")
    WeightScale(below, largest, unit, n_rows).check("the rows")
    with pytest.raises(ValueError, match="sample_weight of the rows ranges from") as refused:
        WeightScale(below, largest, unit / 2, n_rows).check("the rows")
    assert f"from {below:.6g} to {largest:.6g}; " in str(refused.value)
    assert f"of {n_rows} rows, those from {least:.6g} on can be counted" in str(refused.value)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(1, 1e9), min_size=40, max_size=40), st.integers(-450, 450))
def test_rates_are_those_of_the_weights_as_they_are(weights, power):
    weight = np.ldexp(np.array(weights), power)
    path = trace_path(TREE, X, y, sensitive_features=s, sample_weight=weight)
    decided = TREE.predict(X)
    for place, group in enumerate(roles(path)):
        own = [Fraction(w) for w in weight[s == group]]
        favored = [Fraction(w) for w in weight[(s == group) & (decided == 1)]]
        assert float(path.selection_rates[0, place]) == pytest.approx(float(sum(favored) / sum(own)), rel=1e-6)
    rates = path.selection_rates[0]
    assert path.discrimination[0] == pytest.approx(rates[1] - rates[0], abs=1e-12)


@pytest.mark.parametrize("power", [-1074, -600, 600, 1018])
def test_what_weights_have_in_common_changes_nothing(power):
    given = {"sensitive_features": s, "strategy": "leaf"}
    times = np.arange(40) % 3 if power < 1018 else np.ones(40)
    one, other = (trace_path(TREE, X, y, sample_weight=np.ldexp(times, scale), **given) for scale in (0, power))
    np.testing.assert_array_equal(other.discrimination, one.discrimination)
    for objective in ("accuracy", "balanced_accuracy"):
        np.testing.assert_array_equal(other.counts.drop(objective), one.counts.drop(objective))
    decided = {"y_true": y, "y_pred": TREE.predict(X), "sensitive_features": s}
    measured = [measure("discrimination", **decided, sample_weight=np.ldexp(times, scale)) for scale in (0, power)]
    assert measured[0] == measured[1]
    assert np.isfinite(measured[0])


def test_weights_whose_sum_is_no_number_are_refused():
    message = (
        r"ranges from 4.49\d*e\+306 to .*; of 40 rows, weights up to 4.49e\+306 have a sum that is a number. Divide"
    )
    most = np.finfo(float).max / 40
    trace_path(TREE, X, y, sensitive_features=s, sample_weight=np.full(40, most))
    with pytest.raises(ValueError, match=message):
        trace_path(TREE, X, y, sensitive_features=s, sample_weight=np.full(40, np.nextafter(most, np.inf)))
