"""The synthetic data have the bias that they state."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from eifffel.datasets import make_biased_classification


def test_shape_and_names():
    people = make_biased_classification(500, random_state=0)
    assert people.data.shape == (500, len(people.feature_names))
    assert set(np.unique(people.target)) == set(np.unique(people.sensitive)) == {0, 1}
    assert "proxies" in people.DESCR
    assert not any(np.array_equal(column, people.sensitive) for column in people.data.T)


def test_the_same_seed_gives_the_same_people():
    one, two, other = (make_biased_classification(100, random_state=seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one.data, two.data)
    assert (one.data != other.data).any()


def test_bias_favours_the_privileged_group_and_proxies_give_it_away():
    biased, fair, hidden = (
        make_biased_classification(20_000, bias=bias, proxy=proxy, random_state=0)
        for bias, proxy in ((1.5, 1.5), (0, 1.5), (1.5, 0))
    )

    def gap(decision, people):
        return decision[people.sensitive == 1].mean() - decision[people.sensitive == 0].mean()

    def of_forest(people):
        forest = RandomForestClassifier(20, min_samples_leaf=20, random_state=0)
        return gap(forest.fit(people.data[:10_000], people.target[:10_000]).predict(people.data), people)

    assert gap(biased.target, biased) > 0.2
    assert abs(gap(fair.target, fair)) < 0.03
    assert of_forest(biased) > 0.15
    assert abs(of_forest(hidden)) < 0.05, "without proxies a model that is not told the group cannot favour it"


def test_a_share_that_is_none():
    with pytest.raises(ValueError, match="privileged_share must be strictly between 0 and 1, got 1"):
        make_biased_classification(10, privileged_share=1)
