"""More than two groups, more than one attribute, other rates: what holds whatever they are."""

import warnings
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier

from draws import people, two_groups
from eifffel import trace_path, view_ensemble
from eifffel.constraints import CONSTRAINTS, make_constraint
from eifffel.intervals import difference_limit
from eifffel.leaves.counting import count_leaves
from eifffel.leaves.placing import PlacedRows
from eifffel.leaves.scoring import score_leaves
from eifffel.rows.coding import Coding
from eifffel.rows.groups import Groups
from eifffel.rows.parts import draw_searched
from eifffel.strategies import STRATEGIES, order_leaves, order_trees
from literal import run_literally

ORDERS = {"leaf": order_leaves, "tree": order_trees}


def drawn(seed, n_rows, n_groups):
    """Coarse rows whose labels favour some groups; every label is in every group."""
    random = np.random.RandomState(seed)
    X, y, _ = people(n_rows, seed)
    group = random.randint(0, n_groups, n_rows)
    X[:, 0] = np.round(X[:, 0] + group / 2)
    group[: 2 * n_groups], y[: 2 * n_groups] = np.repeat(np.arange(n_groups), 2), np.tile([0, 1], n_groups)
    return X, y, group


def forest(X, y, seed, n_trees=4, depth=None):
    return RandomForestClassifier(n_trees, max_depth=depth, random_state=seed).fit(X, y)


def flips_of(path):
    return [(int(flip["tree"]), int(flip["leaf"]), int(flip["step"])) for flip in path.flips(path.n_steps)]


def trace(model, X, y, group, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return trace_path(model, X, y, sensitive_features=group, min_group_rows=0, **options)


class Rules:
    """The state of all trees while leaves are flipped, in fractions, to say what may be flipped next."""

    def __init__(self, model, X, y, sides, pairs):
        self.trees, self.X, self.y, self.sides, self.pairs = model.estimators_, X, y, sides, pairs
        self.leaf_of_row = [tree.apply(X) for tree in self.trees]
        self.favorable = [
            {leaf: tree.tree_.value[leaf, 0, 1] > tree.tree_.value[leaf, 0, 0] for leaf in np.unique(of_row)}
            for tree, of_row in zip(self.trees, self.leaf_of_row, strict=True)
        ]
        self.flipped = set()

    def share(self, t, leaf, side):
        inside = (self.leaf_of_row[t] == leaf) & self.sides[side]
        return Fraction(int(inside.sum()), int(self.sides[side].sum()))

    def differences(self, t):
        rate = [
            sum((self.share(t, leaf, k) for leaf, up in self.favorable[t].items() if up), Fraction(0))
            for k in range(len(self.sides))
        ]
        return [rate[a] - rate[b] for a, b in self.pairs]

    def candidates(self, t, pair):
        """{leaf: (score, drop)} of those whose flip lowers a difference."""
        found, value = {}, self.trees[t].tree_.value
        for leaf, up in self.favorable[t].items():
            if (t, leaf) in self.flipped or value[leaf, 0, 0] == value[leaf, 0, 1]:
                continue
            a, b = pair
            drop = (self.share(t, leaf, a) - self.share(t, leaf, b)) * (1 if up else -1)
            inside = self.leaf_of_row[t] == leaf
            cost = (2 * int(self.y[inside].sum()) - int(inside.sum())) * (1 if up else -1)
            if drop > 0:
                found[leaf] = (drop / cost if cost > 0 else float("inf"), drop)
        return found

    def flip(self, t, leaf):
        self.flipped.add((t, leaf))
        self.favorable[t][leaf] = not self.favorable[t][leaf]


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**16),
    n_groups=st.integers(2, 4),
    name=st.sampled_from(sorted(CONSTRAINTS)),
    privileged=st.booleans(),
    depth=st.sampled_from([None, 2, 3]),
)
def test_one_leaf_at_a_time_attacks_the_worst_pair_of_the_worst_tree(seed, n_groups, name, privileged, depth):
    X, y, group = drawn(seed, 60, n_groups)
    model = forest(X, y, seed, depth=depth)
    # Of two groups one would be privileged by default.
    privileged = privileged or n_groups == 2
    path = trace(model, X, y, group, strategy="leaf", constraint=name, privileged=0 if privileged else None)
    sides, pairs = [], []
    for label in CONSTRAINTS[name]:
        start = len(sides)
        sides += [(group == g) & ((y == label) if label is not None else True) for g in range(n_groups)]
        pairs += [
            (start + a, start + b)
            for a in range(n_groups)
            for b in range(n_groups)
            if a != b and (a == 0 or not privileged or (b == 0 and (n_groups > 2 or name == "equalized_odds")))
        ]
    rules = Rules(model, X, y, sides, pairs)
    done = set()
    for step, (t, leaf, at) in enumerate(flips_of(path), start=1):
        assert at == step
        worst = {k: max(rules.differences(k)) for k in range(len(rules.trees)) if k not in done}
        largest = max(worst.values())
        # Trees as bad and before it in line have nothing left to flip.
        for other in [k for k in worst if worst[k] > worst[t] or (worst[k] == worst[t] and k < t)]:
            attacked = [p for p, d in zip(pairs, rules.differences(other), strict=True) if d == worst[other]]
            assert worst[other] == 0 or not all(rules.candidates(other, pair) for pair in attacked)
            done.add(other)
        assert worst[t] == max(worst[k] for k in worst if k not in done) or largest == worst[t]
        attacked = [p for p, d in zip(pairs, rules.differences(t), strict=True) if d == worst[t]]
        best = []
        for pair in attacked:
            found = rules.candidates(t, pair)
            best += sorted(found, key=lambda k, found=found: (-found[k][0], -found[k][1], k))[:1]
        assert leaf in best
        rules.flip(t, leaf)
    for t in range(len(rules.trees)):
        differences = rules.differences(t)
        attacked = [p for p, d in zip(pairs, differences, strict=True) if d == max(differences)]
        assert t in done or max(differences) == 0 or not all(rules.candidates(t, pair) for pair in attacked)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**16), strategy=st.sampled_from(["leaf", "tree"]), depth=st.sampled_from([None, 2, 3]))
def test_two_groups_without_a_privileged_one_are_the_papers_while_it_is_favoured(seed, strategy, depth):
    X, y, s = people(60, seed)
    model = forest(X, y, seed, depth=depth)
    view = view_ensemble(model)
    plain = trace(model, X, y, s, strategy=strategy)
    low, high = plain.groups
    groups = Groups(((low, high),), ("",))
    rows = Coding(view.classes, view.favorable, groups).encode(X, y, s, rows="rows")
    placed = PlacedRows(X, view.apply(view.check_rows(X)), rows, "rows")
    counts = count_leaves(view, placed)
    constraint = make_constraint("demographic_parity", groups)
    assert len(constraint.pairs) == 2
    scores = score_leaves(view, counts, constraint, np.ones(2, int), view.flippable)
    order = ORDERS[strategy](scores)
    # The paper's own, from the literal algorithm, as long as the tree attacked has a positive signed difference.
    flips, _ = run_literally(strategy, model, X, y, (s == high).astype(int), 1, -1.0, 2.0)
    rules = Rules(model, X, y, [s == low, s == high], [(1, 0)])
    got = list(
        zip(view.leaf_tree[order.leaf].tolist(), view.leaf_node[order.leaf].tolist(), order.step.tolist(), strict=True)
    )
    same = 0
    while same < len(flips):
        step = flips[same][2]
        together = [flip for flip in flips if flip[2] == step]
        t = together[0][0]
        if rules.differences(t)[0] <= 0 or any(
            -rules.differences(k)[0] >= rules.differences(t)[0] for k in range(len(model.estimators_))
        ):
            break  # another tree would be attacked in the other direction
        assert got[same : same + len(together)] == together
        for _, leaf, _ in together:
            rules.flip(t, leaf)
        same += len(together)
    assume(same > 0)


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 2**16),
    strategy=st.sampled_from(sorted(STRATEGIES)),
    name=st.sampled_from(sorted(CONSTRAINTS)),
    order=st.permutations(range(4)),
    privileged=st.sampled_from([None, 0, 2]),
)
def test_relabelling_groups_permutes_results(seed, strategy, name, order, privileged):
    X, y, group = drawn(seed, 80, 4)
    model = forest(X, y, seed)
    order = np.array(order)
    named = None if privileged is None else order[privileged]
    one = trace(model, X, y, group, strategy=strategy, constraint=name, privileged=privileged)
    other = trace(model, X, y, order[group], strategy=strategy, constraint=name, privileged=named)
    assert one.n_steps == other.n_steps
    if strategy == "shift":
        # Sums of other orders round otherwise, and a search follows from them.
        np.testing.assert_allclose(other.order.score, one.order.score, atol=1e-3 * np.abs(one.order.score).max())
        return
    assert flips_of(one) == flips_of(other)
    np.testing.assert_array_equal(one.discrimination, other.discrimination)
    np.testing.assert_array_equal(one.selection_rates, other.selection_rates[:, order])


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 2**16),
    strategy=st.sampled_from(["leaf", "tree"]),
    name=st.sampled_from(sorted(CONSTRAINTS)),
    combine=st.sampled_from(["each", "intersection"]),
    order=st.permutations(range(3)),
)
def test_relabelling_an_attribute_of_several_permutes_results(seed, strategy, name, combine, order):
    X, y, group = drawn(seed, 80, 6)
    model = forest(X, y, seed)
    order = np.array(order)
    plain, relabelled = {"a": group % 2, "b": group // 2}, {"b": order[group // 2], "a": 1 - group % 2}
    options = {"strategy": strategy, "constraint": name, "combine": combine}
    one, other = (trace(model, X, y, groups, **options) for groups in (plain, relabelled))
    assert flips_of(one) == flips_of(other)
    np.testing.assert_array_equal(one.discrimination, other.discrimination)


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 2**16), strategy=st.sampled_from(["leaf", "tree"]), name=st.sampled_from(sorted(CONSTRAINTS))
)
def test_duplicating_all_rows_changes_nothing(seed, strategy, name):
    X, y, group = drawn(seed, 60, 3)
    model = forest(X, y, seed)
    one = trace(model, X, y, group, strategy=strategy, constraint=name)
    thrice = [np.concatenate([column] * 3) for column in (X, y, group)]
    three = trace(model, *thrice, strategy=strategy, constraint=name)
    assert flips_of(one) == flips_of(three)
    np.testing.assert_array_equal(one.discrimination, three.discrimination)
    assert one.select(epsilon=1.0, rule="paper").step == three.select(epsilon=1.0, rule="paper").step == 0


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 2**16),
    strategy=st.sampled_from(["leaf", "tree"]),
    name=st.sampled_from(sorted(CONSTRAINTS)),
    copied=st.integers(0, 2),
)
def test_a_copy_of_a_group_under_a_new_name_adds_no_flips(seed, strategy, name, copied):
    X, y, group = drawn(seed, 60, 3)
    model = forest(X, y, seed)
    # What a flip costs is that of all rows, and rows that are there twice would count twice in it.
    again = np.concatenate([np.arange(60), np.flatnonzero(group == copied)])
    named = np.concatenate([group, np.full(len(again) - 60, 3)])
    weight = np.where(group[again] == copied, 0.5, 1.0)
    plain = trace(model, X, y, group, strategy=strategy, constraint=name)
    more = trace(model, X[again], y[again], named, strategy=strategy, constraint=name, sample_weight=weight)
    assert flips_of(plain) == flips_of(more)
    np.testing.assert_allclose(more.discrimination, plain.discrimination, atol=1e-12)
    if strategy == "tree":  # which asks for no cost
        whole = trace(model, X[again], y[again], named, strategy=strategy, constraint=name)
        assert flips_of(plain) == flips_of(whole)


@pytest.mark.parametrize("strategy", ["leaf", "tree"])
@pytest.mark.parametrize("name", sorted(CONSTRAINTS))
def test_groups_that_are_all_alike_are_left_alone(strategy, name):
    X, y, _ = drawn(0, 60, 3)
    model = forest(X, y, 0, depth=3)
    thrice = [np.concatenate([column] * 3) for column in (X, y)]
    path = trace(model, *thrice, np.repeat(["a", "b", "c"], 60), strategy=strategy, constraint=name)
    assert path.n_steps == 0
    assert path.discrimination.tolist() == [0.0]


MODELS = {
    "forest": RandomForestClassifier(6, random_state=0),
    "boosting": GradientBoostingClassifier(n_estimators=8, random_state=0),
    "histograms": HistGradientBoostingClassifier(max_iter=8, min_samples_leaf=3, random_state=0),
}


@pytest.mark.parametrize("name", sorted(MODELS))
@pytest.mark.parametrize("constraint", sorted(CONSTRAINTS))
@pytest.mark.parametrize("combine", ["each", "intersection"])
@pytest.mark.filterwarnings("ignore::eifffel.NarrowProbabilitiesWarning")
def test_the_path_says_what_the_edited_model_does(name, constraint, combine):
    X, y, group = drawn(5, 400, 6)
    groups = {"sex": group % 2, "race": group // 2}
    model = MODELS[name].fit(X[:200], y[:200])
    path = trace(
        model,
        X[:200],
        y[:200],
        {key: column[:200] for key, column in groups.items()},
        constraint=constraint,
        combine=combine,
        select_on=(X[200:], y[200:], {key: column[200:] for key, column in groups.items()}),
    )
    assert path.strategy == "shift"
    for step in np.linspace(0, path.n_steps, 6).astype(int):
        decided = path.model_at(step).predict(X[200:])
        counts = [
            [
                (decided[(groups["sex"][200:] == a) & (groups["race"][200:] == b) & (y[200:] == k)] == 1).sum()
                for k in (0, 1)
            ]
            for a in (0, 1)
            for b in (0, 1, 2)
        ]
        np.testing.assert_array_equal(path.counts.favorable[step], counts)


def unequal_people(n, seed):
    """Three groups, the higher the more favoured: merit, what gives the group away, and labels that know it."""
    random = np.random.RandomState(seed)
    group = random.randint(0, 3, n)
    X = np.column_stack([random.normal(size=n), group + 0.6 * random.normal(size=n), random.normal(size=n)])
    return X, (X[:, 0] + 0.8 * group + 1.2 * random.normal(size=n) > 1).astype(int), group


@pytest.mark.parametrize("constraint", sorted(CONSTRAINTS))
@pytest.mark.parametrize("strategy", ["shift", "leaf"])
def test_the_largest_difference_of_several_groups_falls_on_people_never_seen(constraint, strategy):
    X, y, group = unequal_people(16_000, 0)
    fit, chosen, fresh = np.split(np.arange(16_000), [6000, 11_000])
    model = RandomForestClassifier(30, min_samples_leaf=10, random_state=0).fit(X[fit], y[fit])
    path = trace_path(
        model,
        X[fit],
        y[fit],
        sensitive_features=group[fit],
        strategy=strategy,
        constraint=constraint,
        select_on=(X[chosen], y[chosen], group[chosen]),
    )
    choice = path.select(epsilon=0.08)
    assert choice.met
    later = path.measure(X[fresh], y[fresh], group[fresh])
    assert later.discrimination[0] > 0.2
    assert later.discrimination[choice.step] < 0.12
    assert later.accuracy[choice.step] > later.accuracy[0] - 0.025
    certain = path.select(epsilon=0.2, confidence=0.9)
    assert certain.discrimination_rows == "selection rows kept apart"
    searched = draw_searched(0, 5000)
    assert certain.n_discrimination_rows == (~searched).sum()
    assert certain.met
    assert certain.upper <= 0.2
    assert (certain.lower, certain.directed) == (-certain.upper, False)
    assert later.discrimination[certain.step] <= 0.2
    assert later.select(epsilon=0.2, confidence=0.9).discrimination_rows == "measured rows kept apart"
    # Every difference is tested by itself, and the largest limit counts.
    counts, pairs = path.certification_counts, path.constraint.pairs
    size, part = path.constraint.count_sides(counts.totals), path.constraint.count_sides(counts.favorable[certain.step])
    limits = [float(difference_limit(part[a], size[a], part[b], size[b], 0.95)) for a, b in pairs]
    assert len(limits) == 6 * len(CONSTRAINTS[constraint])
    assert certain.upper == max(limits)


@settings(max_examples=20, deadline=None)
@given(
    seed=st.integers(0, 2**16),
    name=st.sampled_from(sorted(CONSTRAINTS)),
    strategy=st.sampled_from(["shift", "leaf", "tree"]),
)
def test_rows_that_certify_have_no_part_in_edits_nor_in_where_tests_start(seed, name, strategy):
    X, y, group = drawn(seed, 900, 4)
    model = forest(X[:500], y[:500], 0, n_trees=10, depth=4)
    searched = draw_searched(0, 400)

    def path(features, labels, groups):
        given = {"select_on": (features, labels, groups)}
        return trace(model, X[:500], y[:500], group[:500], strategy=strategy, constraint=name, **given)

    chosen = X[500:], y[500:], group[500:]
    # The others are other people, and as many of each group and label.
    others = [np.where(searched[:, None], chosen[0], chosen[0][::-1] + 1), *chosen[1:]]
    one, other = path(*chosen), path(*others)
    np.testing.assert_array_equal(one.order.score, other.order.score)
    if strategy != "shift":  # whose steps are between crossings of all rows
        np.testing.assert_array_equal(one.searched_counts.favorable, other.searched_counts.favorable)
    assert one.searched_counts.totals.sum() == searched.sum()
    assert one.certification_counts.totals.sum() == 400 - searched.sum()
    # What each part is decided is counted as if it were measured by itself.
    for part, counts in ((searched, one.searched_counts), (~searched, one.certification_counts)):
        alone = one.measure(*(column[part] for column in chosen))
        np.testing.assert_array_equal(counts.favorable, alone.counts.favorable)
        np.testing.assert_array_equal(counts.limits(0.9), alone.counts.limits(0.9))
    np.testing.assert_array_equal(one.upper_limits(0.9), one.certification_counts.limits(0.9))
    np.testing.assert_array_equal(one.lower_limits(0.9), -one.upper_limits(0.9))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        choice = one.select(epsilon=0.5, confidence=0.9)
    assert choice.discrimination_rows == "selection rows kept apart"
    assert one.select(epsilon=1.0).discrimination_rows == "selection rows", "without confidence all of them choose"


def test_auto_is_leaf_for_one_difference_and_shift_for_more():
    X, y, group = drawn(1, 300, 3)
    model = forest(X, y, 0, depth=4)
    assert trace(model, X, y, (group > 0).astype(int)).strategy == "leaf"
    assert trace(model, X, y, (group > 0).astype(int), constraint="equalized_odds").strategy == "shift"
    assert trace(model, X, y, group).strategy == "shift"
    assert two_groups().privileged == (1,)
