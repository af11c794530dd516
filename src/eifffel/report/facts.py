"""What a report says, as typed data whose fields are called as in its JSON; written to plain data and read back."""

from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from math import isfinite
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from eifffel.selection.objective import Objective
from eifffel.selection.raised_errors import RaisedError
from eifffel.selection.shortfall import Shortfall
from eifffel.selection.verdict import PublicVerdict

SCHEMA_NAME = "eifffel-report-7"

T = TypeVar("T")


def number(value: Any) -> float | None:
    """A float, or ``None`` where it is undefined, as JSON has it."""
    value = float(value)
    return value if isfinite(value) else None


def one_line(text: Any) -> str:
    """Text from data without line ends, nor anything else that a terminal would act upon."""
    return " ".join("".join(c if c.isprintable() else " " for c in str(text)).split())


@dataclass(frozen=True)
class Estimate:
    """A number and its interval; ``None`` where it is not defined, or not shown."""

    value: float | None
    low: float | None
    high: float | None

    @property
    def interval(self) -> tuple[float, float] | None:
        """From where to where, if that is shown."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    @classmethod
    def of(cls, value: Any, interval: tuple[Any, Any] | None = None) -> "Estimate":
        """A number and its interval, ``None`` where they are undefined."""
        low, high = (None, None) if interval is None else (number(end) for end in interval)
        return cls(number(value), low, high)


NO_ESTIMATE = Estimate(None, None, None)


@dataclass(frozen=True)
class MeasuredRows:
    """The rows that everything is measured on unless it says otherwise."""

    name: str
    n: int
    labelled: bool
    n_labelled: int
    seen: bool
    chose: bool
    without_group: int | None


@dataclass(frozen=True)
class ComparedRates:
    """Which rates are compared, between whom."""

    name: str
    rate: str
    words: str
    directed: bool
    combine: str
    missing: str
    min_group_rows: int
    left_out: tuple[str, ...]


@dataclass(frozen=True)
class Rates:
    """What is decided about a group."""

    selection_rate: Estimate
    ratio_to_highest: Estimate
    true_positive_rate: Estimate
    false_positive_rate: Estimate
    precision: Estimate


@dataclass(frozen=True)
class Group:
    """One of those who are compared."""

    name: str
    attribute: str
    role: str
    rows: int | None
    few: bool
    share: float | None
    small: bool
    bounded: bool
    base_rate: Estimate | None
    before: Rates | None
    after: Rates

    @property
    def moments(self) -> list[tuple[str, Rates]]:
        """What is decided about it before and after an edit, or now."""
        return [("now", self.after)] if self.before is None else [("before", self.before), ("after", self.after)]


@dataclass(frozen=True)
class OfAttribute:
    """The largest difference by one attribute."""

    name: str
    value: float | None


@dataclass(frozen=True)
class Outcome:
    """What is bounded, between whom, and accuracy, of the decisions about everybody."""

    discrimination: Estimate
    ratio: Estimate
    ratio_between: tuple[str, ...]
    between: tuple[str, ...]
    rates: tuple[float | None, ...]
    by_attribute: tuple[OfAttribute, ...]
    accuracy: Estimate


@dataclass(frozen=True)
class Overall:
    """Outcomes before and after an edit, beside the accuracy of the same decision about everybody."""

    before: Outcome | None
    after: Outcome
    constant_accuracy: float | None
    raised_errors: tuple[RaisedError, ...] = ()


@dataclass(frozen=True)
class Category:
    """People of one category, their rate and its ratio to the highest one."""

    name: str
    unknown: bool
    rows: int | None
    few: bool
    share: float | None
    small: bool
    highest: bool
    below: bool | None
    chosen: int | None
    rate: Estimate
    ratio: Estimate
    p_value: float | None


@dataclass(frozen=True)
class Categories:
    """The categories of an attribute, or of all attributes at once."""

    attribute: str
    intersection: bool
    unknown: int | None
    higher_hidden: bool
    categories: tuple[Category, ...]


@dataclass(frozen=True)
class Scoring:
    """Scores above the median of everybody, by category."""

    score: str
    median: float | None
    tables: tuple[Categories, ...]


@dataclass(frozen=True)
class Impact:
    """What the tables of an audit show."""

    selection: tuple[Categories, ...]
    scoring: Scoring | None
    without_group: int | None
    tells_few: bool


@dataclass(frozen=True)
class ChosenStep:
    """The bounds asked for, and what was measured at the chosen step on the rows it was chosen on."""

    step: int
    met: bool | None
    discrimination: float | None
    accuracy: float | None
    accuracy_drop: float | None
    pair: tuple[str, ...]
    directed: bool
    rate_ratio: float | None
    selection_rates: tuple[float | None, ...]
    constraint: str
    epsilon: float | None
    ratio: float | None
    alpha: float | None
    rule: str
    discrimination_rows: str
    accuracy_rows: str
    n_rows: tuple[int | None, ...]
    n_discrimination_rows: int
    hidden: tuple[bool, ...]
    left_out: tuple[str, ...]
    n_accuracy_rows: int
    interval: tuple[float, float] | None
    original: tuple[float, float] | None
    confidence: float | None
    sides: str
    lower: float | None
    upper: float | None
    objective: Objective
    objective_value: float | None
    objective_drop: float | None
    path: str
    trained: bool | None
    overlap: float
    repeats: int
    shortfall: Shortfall | None = None
    raised_errors: tuple[RaisedError, ...] = ()


@dataclass(frozen=True)
class NamedRows:
    """Rows, and how many there are."""

    rows: str
    n: int


@dataclass(frozen=True)
class BoundChoice:
    """A bound that a reader can ask for, and the place in `Tradeoff.points` of the step that it selects."""

    bound: float
    point: int
    met: bool


@dataclass(frozen=True)
class AtChoice:
    """A step on the rows that steps are chosen on."""

    discrimination: float
    ratio: float | None
    accuracy: float
    accuracy_drop: float
    directed: bool
    lower: float | None
    upper: float | None


@dataclass(frozen=True)
class Point:
    """A step that some bound selects."""

    step: int
    position: float
    changed_leaves: int
    selection: AtChoice
    overall: Outcome
    groups: tuple[Rates, ...]


@dataclass(frozen=True)
class Tradeoff:
    """The steps that some bound selects."""

    strategy: str
    n_steps: int
    rule: str
    alpha: float | None
    confidence: float | None
    sides: str
    loss: str
    chosen_on: NamedRows
    accuracy_on: NamedRows
    kind: str
    chosen_bound: int
    bounds: tuple[BoundChoice, ...]
    points: tuple[Point, ...]


@dataclass(frozen=True)
class ChangedGroup:
    """How many of a group gain and lose a favourable decision."""

    rows: int | None
    gained: int | None
    lost: int | None


@dataclass(frozen=True)
class ChangedRule:
    """How many of those whom a rule describes do."""

    rule: str
    rows: int
    gained: int
    lost: int
    tests_sensitive: bool | None


@dataclass(frozen=True)
class Changed:
    """Whose decision the edit changed."""

    groups: tuple[ChangedGroup, ...]
    rules: tuple[ChangedRule, ...]
    n_rules_hidden: int


@dataclass(frozen=True)
class ChangedLeaf:
    """A changed leaf; of its rows, and its effect on them, either those of each group are shown or those of all."""

    tree: int
    leaf: int
    rule: str | None
    before: float
    after: float
    rows: tuple[int | None, ...]
    effect: tuple[float | None, ...]
    all_rows: int | None
    all_effect: float | None
    tests_sensitive: bool | None


@dataclass(frozen=True)
class ChangedLeaves:
    """The changed leaves with the largest effect."""

    n_leaves: int
    n_trees: int
    n_changed: int
    n_hidden: int
    n_more: int
    shown: tuple[ChangedLeaf, ...]


@dataclass(frozen=True)
class Digests:
    """SHA-256 of a model."""

    structure: str
    leaves: str


@dataclass(frozen=True)
class ModelDigests:
    """Those of a model before and after its edit, or now."""

    before: Digests | None
    after: Digests | None


@dataclass(frozen=True)
class Model:
    """Who decides."""

    kind: str
    n_trees: int | None
    n_leaves: int | None
    edited: bool
    strategy: str | None
    direction: str | None
    scale: float | None
    digests: ModelDigests


@dataclass(frozen=True)
class Calibration:
    """Brier scores."""

    before: float | None
    after: float | None


@dataclass(frozen=True)
class Made:
    """When a report was made, and with which versions."""

    at: str
    versions: dict[str, str]


@dataclass(frozen=True)
class About:
    """What whoever made the report says of it."""

    intended_use: str | None = None
    not_for: str | None = None
    owner: str | None = None
    data_source: str | None = None
    data: str | None = None
    split: str | None = None
    test_size: float | None = None
    seed: int | None = None
    trained_on: dict[str, Any] | None = None
    model_file: str | None = None
    command: str | None = None


@dataclass(frozen=True, kw_only=True)
class SummaryFacts:
    """Everything that a report says but for its verdict, which is written from it."""

    rows: MeasuredRows
    favorable: str
    unfavorable: str
    sensitive: str
    constraint: ComparedRates
    groups: tuple[Group, ...]
    overall: Overall
    impact: Impact
    schema: str = SCHEMA_NAME
    sensitive_among_features: bool | None = None
    selection: ChosenStep | None = None
    path: Tradeoff | None = None
    changed: Changed | None = None
    leaves: ChangedLeaves | None = None
    model: Model
    calibration: Calibration | None = None
    made: Made
    about: About
    limits: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Summary(SummaryFacts):
    """Everything that a report says: counts and rates, no rows, and no rule about fewer than ten people.

    Its attributes, and theirs in turn, are called as in the JSON of a report, which `schema` describes.

    Attributes
    ----------
    rows, favorable, unfavorable, sensitive, sensitive_among_features, constraint
        What was measured: on which rows, what is favourable, who is compared and how.
    verdict
        Whether the bound holds: ``kind``, ``heading``, ``sentence`` and the numbers.
    groups, overall, impact
        Rates of each group, of all, and of each category in the tables of an audit, as estimates with ``value``,
        ``low`` and ``high``.
    selection, path, changed, leaves, calibration
        Of an edit: the step and its bounds, the trade-off, who changed, which leaves, Brier scores; ``None`` where
        there was none.
    model, made, about, limits, schema
        Who decided, when and by which versions that was measured, what was said of it, and what numbers do not say.

    See Also
    --------
    summarize, summarize_decisions : Make one.

    Examples
    --------
    >>> from eifffel.report import summarize_decisions
    >>> summary = summarize_decisions(["yes", "no"] * 20, sensitive_features=["f", "f", "m", "m"] * 10, favorable="yes")
    >>> summary.verdict.kind, summary.groups[0].after.selection_rate.value
    ('measured', 0.5)
    """

    verdict: PublicVerdict

    @classmethod
    def of(cls, facts: SummaryFacts, verdict: PublicVerdict) -> "Summary":
        """What was measured, and the verdict on it."""
        return cls(**vars(facts), verdict=verdict)

    def to_dict(self) -> dict[str, Any]:
        """The same as plain data, as it is in JSON.

        Returns
        -------
        dict
            As `schema` describes it.

        Examples
        --------
        >>> from eifffel.report import summarize_decisions
        >>> summary = summarize_decisions([1, 0] * 20, sensitive_features=["f", "f", "m", "m"] * 10)
        >>> summary.to_dict()["rows"]["n"]
        40
        """
        plain: dict[str, Any] = to_plain(self)
        return plain


def to_plain(value: Any) -> Any:
    """A value of a summary as JSON has it."""
    if is_dataclass(value):
        return {field.name: to_plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, dict):
        return {name: to_plain(inner) for name, inner in value.items()}
    return [to_plain(inner) for inner in value] if isinstance(value, tuple | list) else value


def read_summary(plain: dict[str, Any]) -> Summary:
    """A summary from what its `to_dict` gave; raises if that lacks something, or has more."""
    return read(plain, Summary)


def read(plain: dict[str, Any], kind: type[T]) -> T:
    """One of the classes here from plain data, by the types of its fields."""
    value: T = _read_value(plain, kind)
    return value


def _read_value(plain: Any, kind: Any) -> Any:
    """Objects become dataclasses, lists become tuples; of several kinds, that which fits."""
    for option in get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,):
        if is_dataclass(option) and isinstance(plain, dict):
            return _make(option, plain)
        if get_origin(option) is tuple and isinstance(plain, tuple | list):
            inside = get_args(option)
            inside = inside[:1] * len(plain) if inside[-1] is Ellipsis else inside
            return tuple(_read_value(inner, own) for inner, own in zip(plain, inside, strict=True))
    return plain


def _make(kind: Any, plain: dict[str, Any]) -> Any:
    kinds = _kinds(kind)
    if not set(plain) <= set(kinds):
        raise TypeError(f"a report's {kind.__name__} has no {', '.join(sorted(set(plain) - set(kinds)))}")
    return kind(**{name: _read_value(inner, kinds[name]) for name, inner in plain.items()})


@cache
def _kinds(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)
