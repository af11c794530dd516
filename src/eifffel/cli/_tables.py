"""Tables cut into features, labels and groups, with errors that name the file, the column and the value."""

import difflib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from eifffel._utils.validation import listed
from eifffel.cli._files import split_names
from eifffel.comparison import Comparison
from eifffel.rows.groups import INTERSECTION, MOST_GROUPS
from eifffel.rows.labels import check_binary_labels, check_favorable
from eifffel.rows.sensitive import ERROR, OWN_GROUP

# Values or columns that an error names.
MOST_LISTED = 8
FEWEST_ROWS = 30


@dataclass(frozen=True)
class DecisionTask:
    """What is decided about whom: names of columns and values, as texts of the command line.

    Attributes
    ----------
    target : str
        The column of labels.
    sensitive : str
        The column of groups, or several separated by commas.
    comparison : Comparison
        What is compared, with the good label and the privileged group, or several as in ``sex=Male,race=White``, as
        texts.
    labels : pair of str, optional
        The unfavourable and the favourable label of a model that was trained on 0 and 1 in their place.
    good, bad : tuple of str, optional
        The labels that the favourable one and the other stand for, if they are several.
    """

    target: str | None
    sensitive: str
    comparison: Comparison
    labels: tuple[str, str] | None = None
    good: tuple[str, ...] | None = None
    bad: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if not self.sensitive_columns:
            raise ValueError("--sensitive names no column; name the column of groups")

    @property
    def sensitive_columns(self) -> list[str]:
        """The columns of groups."""
        return split_names(self.sensitive)

    @property
    def sensitive_name(self) -> str:
        """What a report calls the sensitive attribute, or several."""
        return (" x " if self.comparison.combine == INTERSECTION else ", ").join(self.sensitive_columns)

    def describe(self) -> dict[str, Any]:
        """Everything as plain values, from which `read_decision_task` makes the same."""
        plain = asdict(self)
        comparison = plain.pop("comparison")
        return {**plain, **comparison}

    def means(
        self, labels: tuple[str, str], good: tuple[str, ...] | None = None, bad: tuple[str, ...] | None = None
    ) -> "DecisionTask":
        """The same where the 0 and 1 of a model stand for these two labels, or each for a set of them."""
        comparison = replace(self.comparison, favorable=labels[1])
        return replace(self, labels=labels, good=good, bad=bad, comparison=comparison)


def read_decision_task(stored: Mapping[str, Any]) -> DecisionTask:
    """The task that `DecisionTask.describe` gave."""
    comparison = Comparison(**{field.name: stored[field.name] for field in fields(Comparison)})
    sets = {name: None if stored[name] is None else tuple(stored[name]) for name in ("labels", "good", "bad")}
    return DecisionTask(stored["target"], stored["sensitive"], comparison, **sets)


@dataclass(frozen=True, eq=False)
class Labelled:
    """A table cut into what a model needs.

    Attributes
    ----------
    X : DataFrame
        Features as they were read.
    y : ndarray or None
        Labels.
    group : DataFrame
        One column for each sensitive attribute.
    comparison : Comparison
        What is compared, with label and groups as they stand in the table.
    row : ndarray
        The place of each row in the table.
    n_dropped : int
        Rows left out for want of a label or a group.
    """

    X: Any
    y: np.ndarray | None
    group: pd.DataFrame
    comparison: Comparison
    row: np.ndarray
    n_dropped: int


def find_near(name: str, known: Sequence[str]) -> str | None:
    """The name that was probably meant: one that differs in case or blanks alone, or else one that looks alike."""
    same = [other for other in known if _fold(other) == _fold(name)]
    return next(iter(same or difflib.get_close_matches(name, known, n=1)), None)


def _fold(name: str) -> str:
    return "".join(name.split()).casefold()


def find_column(frame: pd.DataFrame, name: str, option: str, path: Path) -> str:
    """The column of that name; an error says which there are."""
    if name in frame.columns:
        return name
    near = find_near(name, list(frame.columns))
    meant = "." if near is None else f"; did you mean {near!r}?"
    raise ValueError(
        f"{option}: '{path}' has no column {name!r}{meant} It has {listed(list(frame.columns), MOST_LISTED)}"
    )


@dataclass(frozen=True)
class Cut:
    """How a table is cut, by what is done with it.

    Attributes
    ----------
    drop : sequence of str
        Columns that are no features.
    keep_sensitive : bool
        Whether columns of groups are features.
    drop_missing : bool
        Whether rows without a label or a group are left out; otherwise they are refused.
    labels_needed : bool
    to_learn : bool
        Whether rows are learnt from: they must then be some, and of both labels.
    classes : sequence
        The labels that a model knows.
    favorable_needed : bool
        Whether nothing but the task can say which label is good.
    target_option : str
        The option that names the column of labels.
    """

    drop: Sequence[str] = ()
    keep_sensitive: bool = False
    drop_missing: bool = False
    labels_needed: bool = True
    to_learn: bool = True
    classes: Sequence[Any] = ()
    favorable_needed: bool = True
    target_option: str = "--target"


def cut_table(frame: pd.DataFrame, task: DecisionTask, path: Path, cut: Cut) -> Labelled:
    """Features, labels and groups of a table."""
    target, sensitive = _find_columns(frame, task, path, cut)
    complete = _find_complete(frame, target, sensitive if task.comparison.missing in (None, ERROR) else [], path, cut)
    frame = frame if complete.all() else frame[complete]
    if cut.to_learn and len(frame) < FEWEST_ROWS:
        raise ValueError(
            f"'{path}' has {len(frame)} rows, too few to train, to choose and to measure on; give {FEWEST_ROWS} or more"
        )
    group = pd.DataFrame({name: _read_groups(frame[name]) for name in sensitive})
    for name in sensitive:
        _check_several(group[name], f"--sensitive: column {name!r}", missing=task.comparison.missing)
    asked = task.comparison
    privileged = None if asked.privileged is None else _match_privileged(asked.privileged, group)
    y, favorable = _read_labels(frame, task, target, cut)
    leave = {target, *cut.drop, *(() if cut.keep_sensitive else sensitive)}
    X = frame[[name for name in frame.columns if name not in leave]].reset_index(drop=True)
    comparison = replace(asked, favorable=favorable, privileged=privileged)
    return Labelled(X, y, group, comparison, np.flatnonzero(complete), int((~complete).sum()))


def _find_columns(frame: pd.DataFrame, task: DecisionTask, path: Path, cut: Cut) -> tuple[str | None, list[str]]:
    """The column of labels, if there is one, and those of groups; raises if one is missing or has two purposes."""
    for name in cut.drop:
        find_column(frame, name, "--drop", path)
    sensitive = [find_column(frame, name, "--sensitive", path) for name in task.sensitive_columns]
    if len(set(sensitive)) < len(sensitive):
        raise ValueError(f"--sensitive names a column twice: {task.sensitive!r}")
    target = None
    if task.target is not None and (cut.labels_needed or any(_fold(task.target) == _fold(name) for name in frame)):
        target = find_column(frame, task.target, cut.target_option, path)
    if target in sensitive:
        raise ValueError(f"{cut.target_option} and --sensitive are both {target!r}; the label cannot be the group")
    for name in sensitive if target is None else [target, *sensitive]:
        if name in cut.drop:
            raise ValueError(
                f"--drop names {name!r}, which is needed; leave it out of --drop (labels and groups are no features)"
            )
    return target, sensitive


def _find_complete(
    frame: pd.DataFrame, target: str | None, sensitive: Sequence[str], path: Path, cut: Cut
) -> np.ndarray:
    """Which rows have a label and these groups; raises if some have not, and are not to be left out."""
    wanted = [(name, "--sensitive") for name in sensitive]
    wanted += [] if target is None else [(target, cut.target_option)]
    gaps = {name: (frame[name].isna().to_numpy(), option) for name, option in wanted}
    complete = ~np.any([np.zeros(len(frame), bool), *(gap for gap, _ in gaps.values())], axis=0)
    if not complete.all() and not cut.drop_missing:
        name, (gap, option) = next((name, found) for name, found in gaps.items() if found[0].any())
        remedy = "; --missing drop leaves them out of all counts, --missing own-group makes them a group"
        remedy = remedy if option == "--sensitive" else ""
        raise ValueError(
            f"column {name!r} ({option}) is missing in {gap.sum():,} of {len(frame):,} rows of '{path}'; "
            f"--drop-missing leaves such rows out{remedy}"
        )
    if not complete.any():
        raise ValueError(f"no row of '{path}' has both a label and a group")
    return complete


def _read_labels(
    frame: pd.DataFrame, task: DecisionTask, target: str | None, cut: Cut
) -> tuple[np.ndarray | None, Any]:
    """The labels, if there are any, and the favourable one."""
    asked, y = task.comparison.favorable, None if target is None else column_values(frame[target])
    if task.labels is not None:
        return (None, None) if y is None else (_code_labels(y, task, str(target)), 1)
    if y is not None and cut.to_learn:
        remedy = "name all that are good for a person, as in --favorable 'approved,approved in part'"
        _check_two(y, f"{cut.target_option}: column {target!r}", remedy)
    if asked is None:
        if cut.favorable_needed and y is not None:
            raise need_favorable(f"label of column {target!r}", y)
        if cut.favorable_needed and cut.classes:
            raise need_favorable("decision of the model", cut.classes, in_rows=False)
        return y, None
    if cut.classes:
        return y, match_value(asked, np.array(list(cut.classes), object), "--favorable: the model")
    return y, None if y is None else match_value(asked, y, f"--favorable: column {target!r}")


def find_good(frame: pd.DataFrame, task: DecisionTask) -> DecisionTask:
    """The task with the labels that are good for a person where ``--favorable`` names several of them."""
    favorable = task.comparison.favorable
    if favorable is None or task.target not in frame.columns or task.labels is not None:
        return task
    y = column_values(frame[task.target].dropna())
    known = set(map(str, y.tolist()))
    if len(known) <= 2:
        return task
    named = [favorable] if favorable in known else split_names(favorable)  # it may have a comma in it
    if not named:
        raise ValueError(f"--favorable names no label, got {favorable!r}; name those that are good for a person")
    good = [str(match_value(name, y, f"--favorable: column {task.target!r}")) for name in named]
    bad = sorted(known - set(good))
    if not bad:
        raise ValueError(f"--favorable names every label of column {task.target!r}; leave at least one out")
    return name_sets(task, good, bad)


def name_sets(task: DecisionTask, good: Sequence[Any], bad: Sequence[Any]) -> DecisionTask:
    """The task with the labels that are good for a person, and the others."""
    sets = tuple(map(str, good)), tuple(map(str, bad))
    labels = (" or ".join(sets[1]) if len(bad) <= MOST_LISTED else "other", " or ".join(sets[0]))
    return task.means(labels, good=sets[0], bad=sets[1])


def find_words(frame: pd.DataFrame, task: DecisionTask) -> DecisionTask:
    """The task with what 0 and 1, the labels of a model, stand for, where those of a table are two words."""
    if task.target not in frame.columns or task.labels is not None:
        return task
    values = column_values(frame[task.target].dropna())
    known = set(map(str, values.tolist()))
    if len(known) != 2 or known <= {"0", "1", "True", "False"}:
        return task
    if task.comparison.favorable is None:
        needed = need_favorable(f"label of column {task.target!r}", values)
        raise ValueError(f"{needed} It is taken as what the model's 1 stands for")
    good = str(match_value(task.comparison.favorable, values, f"--favorable: column {task.target!r}"))
    (other,) = known - {good}
    return task.means((other, good))


def _read_groups(column: pd.Series) -> np.ndarray:
    """Groups as `column_values` has them, missing ones as None."""
    known = column.notna().to_numpy()
    groups = np.full(len(column), None, object)
    groups[known] = column_values(column[known]).tolist()
    return groups


def _match_privileged(text: str, group: pd.DataFrame) -> Any:
    """The privileged group that a text of the command line names, or one for each column it names."""
    if group.shape[1] == 1 and "=" not in text:
        return match_value(text, group.iloc[:, 0].dropna(), f"--privileged: column {group.columns[0]!r}")
    named = dict(part.split("=", 1) for part in split_names(text) if "=" in part)
    if len(named) < len(split_names(text)) or not named:
        raise ValueError(f"--privileged must name the column of each group, as in sex=Male,race=White, got {text!r}")
    for name in named:
        if name not in group.columns:
            near = find_near(name, list(group.columns))
            meant = "" if near is None else f"; did you mean {near!r}?"
            raise ValueError(f"--privileged names {name!r}, not among --sensitive {', '.join(group.columns)}{meant}")
    return {
        name: match_value(value, group[name].dropna(), f"--privileged: column {name!r}")
        for name, value in named.items()
    }


def column_values(column: pd.Series) -> np.ndarray:
    """Labels or groups, none missing: whole numbers as integers, texts as str."""
    array = column.to_numpy()
    if array.dtype.kind not in "biuf":
        array = np.array([str(value).strip() for value in array], object)
        if set(array.tolist()) <= {"True", "False", "true", "false", "TRUE", "FALSE"}:
            # One kind of booleans, however a file spells them and whether or not some were missing.
            return np.array([value.lower() == "true" for value in array])
    if array.dtype.kind == "f" and (array == np.rint(array)).all():
        return array.astype(np.int64)
    return array


def match_value(text: str, values: Any, what: str) -> Any:
    """The value that a text of the command line stands for."""
    distinct = list(dict.fromkeys(np.asarray(values).tolist()))
    exact = [value for value in distinct if str(value) == text.strip()]
    found = exact or [value for value in distinct if is_spelt(value, text)]
    if len(found) == 1:
        return found[0]
    names = sorted(map(str, distinct))
    near, has = find_near(text, names), f"t has {listed(names, MOST_LISTED)}"
    raise ValueError(f"{what} has no {text!r}; {f'i{has}' if near is None else f'did you mean {near!r}? I{has}'}")


def is_spelt(value: Any, text: str) -> bool:
    """Whether a text of the command line is a spelling of a value, as 1.0 is of 1, and true and 1 are of True."""
    spelt = text.strip()
    if str(value) == spelt or (isinstance(value, bool) and str(value).lower() == spelt.lower()):
        return True
    try:
        return float(value) == float(spelt)
    except ValueError:
        return False


def need_favorable(what: str, values: Sequence[Any] | np.ndarray, *, in_rows: bool = True) -> ValueError:
    """The error where nobody said which value is good for a person; it counts those ``in_rows``."""
    counts = Counter(np.asarray(values).tolist())
    named = [f"{value!r} ({counts[value]:,} rows)" if in_rows else repr(value) for value in sorted(counts, key=str)]
    n_more = len(named) - MOST_LISTED
    shown = named if n_more <= 0 else [*named[: MOST_LISTED - 1], f"{n_more + 1:,} others"]
    choice = " or ".join(filter(None, (", ".join(shown[:-1]), shown[-1])))
    return ValueError(f"--favorable is needed: which {what} is good for a person, {choice}?")


def _check_several(values: pd.Series, what: str, *, missing: str | None) -> None:
    """Raise if there is one group alone, or so many that they must be persons or numbers."""
    distinct = sorted(set(map(str, values.dropna().tolist())))
    if len(distinct) + (missing == OWN_GROUP and bool(values.isna().any())) < 2:
        raise ValueError(f"{what} is {(distinct or ['missing'])[0]!r} in every row; there must be two groups or more")
    if len(distinct) > MOST_GROUPS:
        raise ValueError(
            f"{what} has {len(distinct):,} values, {listed(distinct, MOST_LISTED)}, and groups can be {MOST_GROUPS} at "
            "most; make bands of numbers, and put rare values together"
        )


def _check_two(values: np.ndarray, what: str, remedy: str) -> None:
    """Raise unless there are two values."""
    distinct = sorted(set(map(str, values.tolist())))
    if len(distinct) == 1:
        raise ValueError(f"{what} is {distinct[0]!r} in every row; there must be two values to tell apart")
    if len(distinct) > 2:
        raise ValueError(
            f"{what} has {len(distinct):,} values, {listed(distinct, MOST_LISTED)}, and must have two; {remedy}"
        )


def code_labels(table: Labelled) -> tuple[Labelled, tuple[str, str] | None]:
    """The table with the labels 0 and 1, and what they stand for; as it is if it has these already."""
    assert table.y is not None
    classes = check_binary_labels(table.y)
    favorable = table.comparison.favorable
    if classes.tolist() == [0, 1] and classes.dtype.kind == "i" and favorable in (None, 1):
        return table, None
    place = check_favorable(classes, favorable)
    labels = (str(classes.tolist()[1 - place]), str(classes.tolist()[place]))
    coded = (table.y == classes[place]).astype(np.int64)
    return replace(table, y=coded, comparison=replace(table.comparison, favorable=1)), labels


def _code_labels(y: np.ndarray, task: DecisionTask, column: str) -> np.ndarray:
    assert task.labels is not None
    texts = np.array([str(value) for value in y.tolist()], object)
    bad, good = ((task.labels[k],) if labels is None else labels for k, labels in enumerate((task.bad, task.good)))
    unknown = sorted(set(texts.tolist()) - {*bad, *good})
    if unknown:
        known = listed([*bad, *good], MOST_LISTED)
        raise ValueError(f"column {column!r} has the label {unknown[0]!r}, and the model was trained on {known}")
    return np.isin(texts, good).astype(np.int64)
