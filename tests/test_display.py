"""The picture shows the path and the step that was selected."""

import sys
import warnings

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError

from draws import people
from eifffel import ConstraintNotMetWarning, EiFFFeLClassifier, FairnessPathDisplay, trace_path

X, y, s = people(300, seed=0)
pytestmark = pytest.mark.filterwarnings("ignore::eifffel.SeenRowsWarning")  # a picture of any path will do


@pytest.fixture(scope="module")
def path():
    model = RandomForestClassifier(10, random_state=0).fit(X, y)
    return trace_path(model, X, y, sensitive_features=s)


@pytest.fixture
def plt():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    yield plt
    plt.close("all")


def test_the_line_is_the_path(path, plt):
    display = path.plot()
    assert isinstance(display, FairnessPathDisplay)
    line = next(line for line in display.ax_.lines if line.get_label() == "path")
    np.testing.assert_array_equal(line.get_xdata(), path.discrimination)
    np.testing.assert_array_equal(line.get_ydata(), path.accuracy)
    assert "scoring rows" in display.ax_.get_title()


def test_the_selected_step_is_marked(path, plt):
    _, ax = plt.subplots()
    choice = path.select(epsilon=0.01)
    display = FairnessPathDisplay.from_path(path, ax=ax, epsilon=0.01)
    assert display.ax_ is ax
    mark = next(line for line in ax.lines if line.get_label() == f"selected (step {choice.step})")
    assert (mark.get_xdata()[0], mark.get_ydata()[0]) == (choice.discrimination, choice.accuracy)
    low, high = ax.get_xlim()
    assert low < choice.discrimination < path.discrimination[0] < high


def test_from_estimator(plt):
    clf = EiFFFeLClassifier(RandomForestClassifier(10, random_state=0), epsilon=0.2, random_state=0)
    with pytest.raises(NotFittedError):
        FairnessPathDisplay.from_estimator(clf)
    display = FairnessPathDisplay.from_estimator(clf.fit(X, y, sensitive_features=s))
    assert f"selected (step {clf.selection_.step})" in [line.get_label() for line in display.ax_.lines]
    assert "selection rows" in display.ax_.get_title()


def test_an_unmet_bound_is_marked_as_such(path, plt):
    with pytest.warns(ConstraintNotMetWarning, match="is not met"):
        display = path.plot(epsilon=0, alpha=0)
    assert [line for line in display.ax_.lines if line.get_label().startswith("NOT MET with alpha = 0 (step ")]
    with pytest.raises(ValueError, match=r"alpha=0.1 selects no step by itself; give epsilon or ratio too"):
        path.plot(alpha=0.1)


def test_a_step_chosen_on_other_rows_is_marked_where_it_is_on_these(path, plt):
    choice = path.select(epsilon=0.1)
    later = path.measure(X[::2], y[::2], s[::2])
    _, ax = plt.subplots()
    path.plot(ax=ax, name="then", epsilon=0.1)
    later.plot(ax=ax, name="later", selection=choice)
    marks = {line.get_label(): line for line in ax.lines}
    found = [marks[label] for label in marks if label.startswith("later: ") and f"(step {choice.step})" in label]
    assert (found[0].get_xdata()[0], found[0].get_ydata()[0]) == (
        later.discrimination[choice.step],
        later.accuracy[choice.step],
    )
    labels = ax.get_legend_handles_labels()[1]
    assert labels.count("original model (step 0)") == 1
    assert ax.get_title() == "After each step, on the scoring rows, and on the measured rows"
    with pytest.raises(ValueError, match="selection was chosen already, and epsilon would choose another step"):
        later.plot(selection=choice, epsilon=0.1)


def test_a_step_that_was_chosen_here_is_marked_as_it_was(plt):
    model = RandomForestClassifier(10, random_state=0).fit(X[:100], y[:100])
    held = trace_path(model, X[:100], y[:100], sensitive_features=s[:100], select_on=(X[100:], y[100:], s[100:]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        choice = held.select(epsilon=0.3, confidence=0.8)
    assert held.plot(selection=choice).selection is choice
    later = held.measure(X[::2], y[::2], s[::2]).plot(selection=choice)
    assert later.selection.discrimination_rows == "measured rows"
    assert later.selection.n_discrimination_rows == 150
    labels = later.ax_.get_legend_handles_labels()[1]
    assert "80% interval of the selected" in labels
    unlabelled = held.measure(X[::2], None, s[::2])
    _, ax = plt.subplots()
    unlabelled.plot(ax=ax, selection=choice)
    assert held.plot(ax=ax).ax_.get_title().endswith(", and on the selection rows")


@pytest.mark.filterwarnings("ignore::eifffel.ConstraintNotMetWarning", "ignore::eifffel.FewRowsWarning")
@pytest.mark.parametrize("apart", [False, True])
def test_the_mark_of_a_selection_is_its_step_on_the_line_with_its_bound(plt, apart):
    model = RandomForestClassifier(10, random_state=0).fit(X[:100], y[:100])
    group = np.where(X[:, 0] > np.median(X[:, 0]), "a", np.where(s == 1, "b", "c")) if apart else s
    held = trace_path(
        model,
        X[:100],
        y[:100],
        sensitive_features=group[:100],
        strategy="shift" if apart else "leaf",
        select_on=(X[100:], y[100:], group[100:]),
        min_group_rows=5,
    )
    choice = held.select(epsilon=0.3, confidence=0.8)
    assert choice.discrimination_rows == ("selection rows kept apart" if apart else "selection rows")
    ax = held.plot(selection=choice).ax_
    lines = {line.get_label(): line for line in ax.lines}
    (mark,) = [
        lines[label] for label in lines if f"(step {choice.step})" in label and label != "original model (step 0)"
    ]
    drawn = lines["path"].get_xdata()[choice.step], lines["path"].get_ydata()[choice.step]
    assert (mark.get_xdata()[0], mark.get_ydata()[0]) == drawn == (choice.discrimination, choice.accuracy)
    assert "within epsilon = 0.3" in ax.get_legend_handles_labels()[1]


def test_a_title_of_ones_own_stays(path, plt):
    _, ax = plt.subplots()
    ax.set_title("mine")
    assert path.plot(ax=ax).ax_.get_title() == "mine"


def test_two_paths_on_one_picture(path, plt):
    _, ax = plt.subplots()
    for strategy in ("leaf", "tree"):
        trace_path(path.model, X, y, sensitive_features=s, strategy=strategy).plot(ax=ax, name=strategy)
    lines = {line.get_label(): line.get_color() for line in ax.lines}
    assert lines["leaf"] != lines["tree"]


def test_something_else_than_a_classifier(path, plt):
    with pytest.raises(TypeError, match="takes a fitted EiFFFeLClassifier, got a RandomForestClassifier"):
        FairnessPathDisplay.from_estimator(path.model)


def test_rows_without_labels_are_named(plt):
    model = RandomForestClassifier(10, random_state=0).fit(X, y)
    path = trace_path(model, X, y, sensitive_features=s, select_on=(X, None, s))
    assert "selection rows, accuracy on the scoring rows" in path.plot().ax_.get_title()


@pytest.mark.filterwarnings("ignore::eifffel.RepeatedRowsWarning")
def test_a_model_that_is_fair_already_is_drawn_too(plt):
    model = RandomForestClassifier(5, random_state=0).fit(X, y)
    twice = np.repeat(X, 2, axis=0)
    path = trace_path(model, twice, np.repeat(y, 2), sensitive_features=np.tile([0, 1], 300))
    assert path.discrimination.tolist() == [0]
    assert path.plot(epsilon=0.1).ax_.lines


def test_without_matplotlib_the_error_says_what_to_install(path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ModuleNotFoundError, match=r"plots need matplotlib; .*pip install 'eifffel\[plot\]'"):
        path.plot()


def test_two_paths_in_one_picture_both_stay_in_sight(path, plt):
    first = path.plot(epsilon=0.05, name="all trees")
    before = first.ax_.get_xlim(), first.ax_.get_ylim()
    shallow = RandomForestClassifier(10, max_depth=2, random_state=0).fit(X, y)
    second = trace_path(shallow, X, y, sensitive_features=s).plot(epsilon=0.05, ax=first.ax_, name="shallow")
    assert second.ax_ is first.ax_
    for (low, high), (low_before, high_before) in zip(
        (second.ax_.get_xlim(), second.ax_.get_ylim()), before, strict=True
    ):
        assert low <= low_before
        assert high_before <= high
    labels = second.ax_.get_legend_handles_labels()[1]
    assert labels.count("within epsilon = 0.05") == 1
    assert any(label.startswith("shallow: ") for label in labels)
    assert any(label.startswith("all trees: selected") for label in labels)
