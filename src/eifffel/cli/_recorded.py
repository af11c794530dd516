"""What the record of a stored model knows: the rows that it was trained on, its task and what its edit asked for."""

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from eifffel._utils.validation import check_fraction
from eifffel.cli._files import hash_file
from eifffel.cli._printing import say_note
from eifffel.cli._tables import DecisionTask, is_spelt, read_decision_task
from eifffel.comparison import Comparison, read_compared
from eifffel.edits.record import find_record
from eifffel.selection.bounds import UPPER, Bounds
from eifffel.strategies import UP


@dataclass(frozen=True)
class Split:
    """How a table is split into rows to train on, to choose on and to measure on."""

    seed: int
    test_size: float
    selection_size: float

    def __post_init__(self) -> None:
        check_fraction("test_size", self.test_size, inner=True)
        check_fraction("selection_size", self.selection_size, inner=True)


@dataclass(frozen=True)
class TrainedOn:
    """The rows that a model was trained on, by which they are known again.

    Attributes
    ----------
    data, sha256 : str
        What a report says of the table, and the hash of its file.
    rows : str
        SHA-256 of the places of these rows in the table.
    seed, test_size, selection_size
        As in `Split`.
    """

    data: str
    sha256: str
    rows: str
    seed: int
    test_size: float
    selection_size: float

    @property
    def split(self) -> Split:
        return Split(self.seed, self.test_size, self.selection_size)


def trained_on(model: Any) -> TrainedOn | None:
    """What the record of a model says of the rows that it was trained on."""
    made = _recorded(model, "trained_on")
    return None if made is None else TrainedOn(**made)


def is_made_from(model: Any, data: Path) -> bool:
    """Whether a model was trained on rows of this table, as its record says."""
    made = trained_on(model)
    return made is not None and made.sha256 == hash_file(data)


def stored_about(model: Any) -> dict[str, Any]:
    """What was said of a model when it was made."""
    about: dict[str, Any] = json.loads(_recorded(model, "summary") or "{}").get("about", {})
    return about


def known_rows(model: Any, data: Path) -> str:
    """What a report must say of a table that a model was made from."""
    return "; the model was made from this table and knows most of its rows" if is_made_from(model, data) else ""


def known_task(model: Any, target: str | None, sensitive: str | None, asked: Comparison) -> DecisionTask:
    """The task as it was given, and as the model's record knows it where it was not."""
    record = find_record(model)
    known: DecisionTask | None = None
    if record is not None and record["task"] is not None:
        known = read_decision_task(record["task"])
        if sensitive is not None:  # a privileged group would be one of others
            known = replace(known, sensitive=sensitive, comparison=replace(known.comparison, privileged=None))
    elif record is not None:
        compared = read_compared(record)
        usual = Comparison(
            constraint=compared.constraint.name,
            min_group_rows=compared.constraint.min_rows,
            combine=compared.groups.combine,
            missing=compared.groups.missing,
        )
        asked = asked.or_else(usual)
    if known is None:
        if sensitive is None:
            raise ValueError("--sensitive is needed: the model does not say which column holds the groups")
        return DecisionTask(target, sensitive, asked)
    if known.labels is not None and not (asked.favorable is None or is_spelt(known.labels[1], asked.favorable)):
        raise ValueError(f"--favorable must be {known.labels[1]!r}, for which the model was trained; leave it out")
    return replace(
        known,
        target=known.target if target is None else target,
        comparison=asked.or_else(known.comparison),
    )


def check_unseen(made: TrainedOn | None, data: Path, places: str) -> None:
    """Raise if a model was trained on other rows of this table than those that score its leaves now.

    ``places`` is the hash of the places of these; all others then had no part in training.
    """
    if made is None or made.sha256 != hash_file(data) or made.rows == places:
        return
    options = " ".join(f"--{name.replace('_', '-')} {value}" for name, value in asdict(made.split).items())
    raise ValueError(
        f"--confidence needs rows that the model was not trained on, and '{data}' is the table that it was made from, "
        f"split otherwise; give {options}, as then, and the same --target, --sensitive and rows, or another table"
    )


def note_known_rows(model: Any, data: Path, seed: int | None = None) -> None:
    """Print a note if a model was made from this table, unless the table is split by the same seed as then."""
    made, edited_on = trained_on(model), _recorded(model, "edited_on")
    if is_made_from(model, data):
        if made is not None and (seed is None or seed != made.seed):
            say_note(
                f"'{data}' is the table that the model was made from: it knows most of these rows, and does better on "
                "them"
            )
    elif seed is None and edited_on is not None and edited_on["sha256"] == hash_file(data):
        say_note(
            f"'{data}' is the table that the model was edited on: most of its rows scored leaves or chose the step, "
            "and say little of other people"
        )


def note_confidence(model: Any, data: Path, bounds: Bounds) -> None:
    """Print what a confidence assumes of a stored model that was not made from this table."""
    if bounds.confidence is not None and not is_made_from(model, data):
        say_note(f"--confidence holds only if the model was not trained on rows of '{data}'")


def note_earlier_bounds(model: Any, bounds: Bounds, direction: str) -> None:
    """Print which bounds an earlier edit of a model had that this one does not ask for."""
    asked, given = _recorded(model, "selection") or {}, []
    if asked.get("confidence") is not None and bounds.confidence is None:
        given.append(f"--confidence {asked['confidence']:g}")
    if asked.get("sides") == UPPER and bounds.sides != UPPER:
        given.append(f"--sides {UPPER}")
    if _recorded(model, "direction") == UP and direction != UP:
        given.append("--direction up")
    if asked.get("alpha") is not None and bounds.alpha is None:
        given.append(f"--alpha {asked['alpha']:g}")
    if given:
        say_note(f"the model was edited with {' '.join(given)}, and this edit is without; say it again if you want it")


def _recorded(model: Any, name: str) -> Any:
    """What the record of a model says; ``None`` where it has none."""
    record = find_record(model)
    return None if record is None else record[name]
