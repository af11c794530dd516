"""Selection: the step that bounds select, and what was measured there."""

from dataclasses import asdict, dataclass, field, replace
from typing import Any, NamedTuple

from eifffel.intervals import CONFIDENCE
from eifffel.rows.hashing import RowHashes
from eifffel.selection.bounds import BOTH, Bounds
from eifffel.selection.judgement import is_unclear, say_limits, say_unclear
from eifffel.selection.objective import Objective
from eifffel.selection.raised_errors import RaisedError, say_raised_errors
from eifffel.selection.shortfall import Shortfall, say_shortfall

# Rows of which so large a share scored leaves are no rows to choose on with confidence.
MOST_SEEN = 0.5
# What a confidence rests on where nothing shows on which rows the model was trained.
RESTS_ON_WORD = "rests on your word that the model was not trained on these rows, for its leaves do not tell"


class KnownRows(NamedTuple):
    """What is known of the rows that a step is chosen on; see the attributes of `Selection` of these names."""

    path: str
    trained: bool | None
    overlap: float
    repeats: int
    hashes: RowHashes | None

    @property
    def seen(self) -> bool:
        """Whether they say little about other people, since the model knows them."""
        return self.trained is True or self.overlap >= MOST_SEEN


@dataclass(frozen=True)
class Selection:
    """The step that a bound selects, and what was measured there; ``print`` says it in words.

    Attributes
    ----------
    step : int
        0 is the original model.
    met : bool
        Whether the step keeps the bounds; with ``confidence``, whether that is certified.
    discrimination, accuracy, accuracy_drop : float
        At this step, on the rows named by ``discrimination_rows`` and ``accuracy_rows``.
    pair : tuple of two str
        Between whom the discrimination is: the rate of the first minus that of the second.
    rate_ratio : float
        The smallest ratio of two of the rates that are compared, at this step; NaN where all are 0.
    directed : bool
        Whether it has a sign: there are two sides, and one is the privileged group.
    selection_rates : tuple of floats
        Share of favourable decisions in each group that is compared, at this step: in the order of
        ``path.grouping.compared``, which is of two groups the unprivileged and the privileged one.
    constraint : str
        Which rates are compared.
    bounds : Bounds
        What was asked for: ``epsilon`` or ``ratio``, ``alpha``, ``rule``, ``confidence`` and ``objective``, which are
        attributes of the selection too.
    discrimination_rows, accuracy_rows : str
        Which rows were measured, such as ``"selection rows"``.
    n_rows : tuple of ints
        How many ``discrimination_rows`` there are in each group that is compared, in the same order.
    n_discrimination_rows : int
        How many there are in all.
    hidden : tuple of bools
        Which of these groups reports and records say nothing of, nor count the people of.
    left_out : tuple of str
        Groups of too few rows, which are not bounded.
    n_accuracy_rows : int
        How many ``accuracy_rows`` there are.
    interval : tuple of two floats, or None
        Two-sided interval of the discrimination at this step: 95%, or of ``confidence`` where it was asked for. It
        knows nothing of how the step was chosen. ``None`` for weighted rows.
    original : tuple of two floats, or None
        The same of the original model, on the same rows.
    lower, upper : float or None
        With ``confidence``, the limits at this step, at the level of the tests, of what is bounded: of the
        discrimination, or of the ratio of the unprivileged group's rate to the privileged one's. Of several
        differences, the limits between which each of them is; of several ratios, the lower limit of all. With
        ``sides="upper"`` a difference has no lower one, and a ratio no upper one.
    objective_value, objective_drop : float
        Of what ``alpha`` limits: how accurate or how dear decisions are, and by how much worse than at step 0.
    path : str
        The ``fingerprint`` of the path that the step is one of.
    trained : bool or None
        Whether the model was trained on ``discrimination_rows``; ``None`` where nothing shows it, and confidence rests
        on your word.
    overlap : float
        About which share of these rows scored leaves.
    repeats : int
        How many times over they are repeated; 1 where they are not.
    hashes : RowHashes or None
        These rows as hashes, so that they are known again; not stored.
    shortfall : Shortfall or None
        With ``confidence``, where the bound is not met: why, and how many rows of whom would do.
    raised_errors : tuple of RaisedError
        Of error rates that are bounded, about whom the step errs more often than the original model, and no less about
        others of whom that erred more. Below some bound there is often no other way to make them equal.
    public_values : dict
        What reports and records say in place of some of these, where people are `hidden` from them.

    See Also
    --------
    FairnessPath.select : Makes one.
    FairnessPath.verdict : Whether its bound holds on other rows.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from eifffel import trace_path
    >>> age, paid, sex = [[20], [30], [40], [50]], [0, 1, 1, 1], ["f", "f", "m", "m"]
    >>> tree, others = DecisionTreeClassifier().fit(age, paid), [[22], [32], [42], [52]]
    >>> path = trace_path(tree, age, paid, sensitive_features=sex, select_on=(others, paid, sex))
    >>> choice = path.select(epsilon=0.05)
    >>> choice.step, choice.met, choice.pair, choice.selection_rates, choice.accuracy_drop
    (1, True, ('m', 'f'), (1.0, 1.0), 0.25)
    >>> choice.plain()["n_rows"]
    (2, 2)
    >>> public = choice.to_public_dict()
    >>> public["epsilon"], public["n_rows"], public["met"]  # there are two people in each group
    (0.05, [None, None], None)
    """

    step: int
    met: bool
    discrimination: float
    accuracy: float
    accuracy_drop: float
    pair: tuple[str, str]
    directed: bool
    rate_ratio: float
    selection_rates: tuple[float, ...]
    constraint: str
    bounds: Bounds
    discrimination_rows: str
    accuracy_rows: str
    n_rows: tuple[int, ...]
    n_discrimination_rows: int
    hidden: tuple[bool, ...]
    left_out: tuple[str, ...]
    n_accuracy_rows: int
    interval: tuple[float, float] | None
    original: tuple[float, float] | None
    lower: float | None
    upper: float | None
    objective_value: float
    objective_drop: float
    path: str
    trained: bool | None
    overlap: float
    repeats: int
    hashes: RowHashes | None = field(default=None, repr=False, compare=False)
    shortfall: Shortfall | None = None
    raised_errors: tuple[RaisedError, ...] = ()
    public_values: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "hashes": None}

    @property
    def epsilon(self) -> float | None:
        """The bound on discrimination that was asked for, if it was not one on the ratio."""
        return self.bounds.epsilon

    @property
    def ratio(self) -> float | None:
        """The bound on the ratio of rates, if that was asked for."""
        return self.bounds.ratio

    @property
    def alpha(self) -> float | None:
        """The bound on the loss of the objective, if there is one."""
        return self.bounds.alpha

    @property
    def rule(self) -> str:
        """Which of the steps that keep the bounds was to be taken."""
        return self.bounds.rule

    @property
    def confidence(self) -> float | None:
        """The confidence that was asked for, if one was."""
        return self.bounds.confidence

    @property
    def objective(self) -> Objective:
        """What ``alpha`` limits the loss of."""
        return self.bounds.objective

    @property
    def sides(self) -> str:
        """In which directions the difference is bounded: ``"both"`` or ``"upper"``."""
        return self.bounds.sides

    @property
    def favours_unclear(self) -> bool:
        """Whether these rows do not say which of two groups the original model favours: its interval contains 0."""
        return self.directed and is_unclear(self.original)

    def __str__(self) -> str:
        level = f"{100 * (CONFIDENCE if self.confidence is None else self.confidence):g}%"
        sure = f"{say_limits(self, digits=4)} with {level} confidence" if self.confidence is not None else ""
        more = [
            None if self.interval is None else f"{level} interval {self.interval[0]:.4f} to {self.interval[1]:.4f}",
            None if self.ratio is None else f"ratio {self.rate_ratio:.4f}{sure}",
            None if self.sides == BOTH or self.upper is None else sure.removeprefix(", "),
        ]
        measured = "; ".join(filter(None, more))
        first, second = self.pair
        change = "below" if self.accuracy_drop >= 0 else "above"
        return (
            f"step {self.step}: {self.bounds} is {'met' if self.met else 'NOT met'}\n"
            f"discrimination {self.discrimination:.4f}{f' ({measured})' if measured else ''}, {first!r} minus "
            f"{second!r}, on {self.n_discrimination_rows:,} {self.discrimination_rows}\n"
            f"accuracy {self.accuracy:.4f}, {abs(self.accuracy_drop):.4f} {change} the original model, on "
            f"{self.n_accuracy_rows:,} {self.accuracy_rows}{self._say_rest()}"
        )

    def _say_rest(self) -> str:
        """Whether errors rose and a group was favoured, why a confidence is not reached, or on what it rests."""
        raised = say_raised_errors(self.raised_errors)
        rest = f"\n{raised}" if raised else ""
        rest += f"\n{say_unclear(self.original, edited=True)}" if self.favours_unclear else ""
        if self.confidence is None:
            return rest
        if self.shortfall is not None:
            return f"{rest}\n{say_shortfall(self)}"
        if self.trained is None:
            return f"{rest}\nthe confidence {RESTS_ON_WORD}"
        return f"{rest}\nthe model was not trained on these rows"

    @property
    def rows_needed(self) -> dict[str, int]:
        """About how many rows to choose on, of whom, would certify the bound four times in five; empty where it is
        met, or where these rows do not say it."""
        return {} if self.shortfall is None else self.shortfall.rows_needed

    @property
    def public_shortfall(self) -> Shortfall | None:
        """Why a bound is not met, as far as it describes ten people or more."""
        told = self.public_values.get("shortfall", self.shortfall)
        return Shortfall(**told) if isinstance(told, dict) else told

    @property
    def bound(self) -> str:
        """The bound on the difference or the ratio that was asked for, in words."""
        return self.bounds.bound

    @property
    def overshoots(self) -> bool:
        """Whether the step keeps a bound in one direction, and would break it with the two groups exchanged."""
        if not self.directed or self.sides == BOTH or self.discrimination >= 0:
            return False
        return self.rate_ratio < self.ratio if self.ratio is not None else -self.discrimination > (self.epsilon or 0)

    def plain(self) -> dict[str, Any]:
        """Return everything as plain data, for readers who have the rows.

        Returns
        -------
        dict
            The attributes by their names, ``epsilon`` and all other bounds among them, but for ``hashes`` and
            ``public_values``.
        """
        whole = asdict(replace(self, hashes=None, public_values={}))
        bounds = whole.pop("bounds")
        return {name: value for name, value in whole.items() if name not in ("hashes", "public_values")} | bounds

    def to_public_dict(self) -> dict[str, Any]:
        """Return everything as plain data that may be published.

        It counts nobody of a group of fewer than ten people. Where one of two groups is so small, nothing is left to
        compare, and it does not say whether the bound is met.

        Returns
        -------
        dict
            The attributes by their names; ``None`` in place of what is not reported.
        """
        return self.plain() | self.public_values


def check_own(selection: Any, path: str) -> None:
    """Raise unless a step was chosen on the path of this fingerprint, whichever rows it was measured on."""
    if not isinstance(selection, Selection):
        raise TypeError(f"selection must be a Selection, as path.select gives it, got a {type(selection).__name__}")
    if selection.path != path:
        raise ValueError(
            f"the selection is step {selection.step} of another path, of another model, other edits or other groups, "
            "and what was measured there says nothing of this one; give a selection that this path made, or one made "
            "by what its measure gave"
        )
