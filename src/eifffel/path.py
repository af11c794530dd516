"""FairnessPath: every step from the original model to all edits made, measured on rows."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import narwhals.stable.v1 as nw
import numpy as np

from eifffel import metrics
from eifffel._utils.optional import import_optional
from eifffel._utils.validation import check_choice, check_confidence, check_step
from eifffel.comparison import Compared
from eifffel.constraints import Constraint
from eifffel.edits.record import attach_record, make_record
from eifffel.edits.rules import Rule, read_rules
from eifffel.edits.write import edit_model, list_flips
from eifffel.ensembles import EnsembleView, find_features, plain_columns, view_ensemble
from eifffel.exceptions import (
    ModelChangedError,
    SeenRowsWarning,
    UnsupportedModelError,
)
from eifffel.leaves.counting import LeafCounts
from eifffel.leaves.training import Training
from eifffel.rows.batches import Batches
from eifffel.rows.columns import check_features
from eifffel.rows.groups import Groups, show_group
from eifffel.rows.hashing import RowHashes, find_overlap
from eifffel.rows.labels import LabelSets
from eifffel.rows.reading import read_rows
from eifffel.selection.advice import warn_of_known_rows
from eifffel.selection.bounds import BOTH, Bounds
from eifffel.selection.choose import select_step
from eifffel.selection.counts import IN_COLUMNS, KEPT_APART, MEASURED_ROWS, PathCounts
from eifffel.selection.measure import RowsToCheck, measure_given
from eifffel.selection.objective import Objective, check_objective
from eifffel.selection.selection import KnownRows, Selection, check_own
from eifffel.selection.verdict import Verdict, say_verdict
from eifffel.strategies import EditOrder

if TYPE_CHECKING:
    from eifffel.display import FairnessPathDisplay

LABELS = ("unfavorable", "favorable")
ROLES = ("unprivileged", "privileged")


@dataclass(frozen=True, eq=False)
class FairnessPath:
    """The steps from an original model, step 0, to the one with all edits of its leaves made.

    Made by `trace_path`. Stores counts, never metric values: every metric at every step is arithmetic on them,
    and every bound is a look-up. What needs the model raises `ModelChangedError` if it was refitted or edited since.

    Attributes
    ----------
    model : fitted classifier
        The original model; never changed.
    strategy : str
    direction : str
        Which way decisions may change.
    comparison : Compared
        Who is compared, by which rates, and what is favourable.
    order : EditOrder
        What is edited at each step.
    leaf_counts : LeafCounts
        Scoring rows in each leaf of the ensemble.
    counts : PathCounts
        On the selection rows.
    accuracy_counts : PathCounts
        On the rows that accuracy is measured on: the selection rows, or the scoring rows where the selection rows
        have no labels.
    searched_counts : PathCounts or None
        Where several differences are bounded, on the part of the selection rows in which a step is looked for that may
        be certified, and to which shifts are fitted; ``None`` where one is, or they scored leaves.
    model_fingerprint : str
        SHA-256 of the model's leaves when the path was traced.
    trained : bool or None
        Whether the model was trained on rows of ``counts``; ``None`` where nothing shows it.
    overlap : float
        About which share of the rows of ``counts`` scored leaves; 0 where equal rows are no more frequent than
        repetition within the tables explains.
    repeats : int
        How many times over the rows are repeated, with those that scored leaves; 1 where they are not.
    rows_to_check : RowsToCheck or None
        The rows of ``counts``, with which edited models are checked. They are kept by reference and are not stored
        with the path: a path that was pickled and loaded has none.
    scored, hashes : RowHashes or None
        The rows by which leaves were scored, and those of ``counts``, as hashes, so that they are known again. They are
        not stored either.

    See Also
    --------
    trace_path : Makes one.
    FairnessPath.select : The step for a bound.
    FairnessPath.model_at : The model of a step.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from eifffel import trace_path
    >>> age, paid, sex = [[20], [30], [40], [50]], [0, 1, 1, 1], ["f", "f", "m", "m"]
    >>> tree = DecisionTreeClassifier().fit(age, paid)  # nobody of 20 is paid
    >>> others = [[22], [32], [42], [52]], paid, sex
    >>> path = trace_path(tree, age, paid, sensitive_features=sex, select_on=others)
    >>> path.discrimination.tolist(), path.accuracy.tolist()  # of the original model, and after each of two flips
    ([0.5, 0.0, -0.5], [1.0, 0.75, 0.0])
    >>> path.metric("demographic_parity_ratio").tolist()
    [0.5, 1.0, 0.0]
    >>> path.objective_drop([[0, 1], [5, 0]]).tolist()  # to refuse somebody wrongly costs five times as much
    [0.0, 0.25, 4.0]
    >>> [f"{limit:.1f}" for limit in path.upper_limits(0.95)]  # four people say little
    ['1.0', '0.8', '0.4']
    >>> frame = path.to_frame()  # all of it as a table
    >>> frame["selection_rate_unprivileged"].tolist(), len(frame.columns)
    ([0.5, 1.0, 0.5], 7)

    A bound selects a step, and the step is a model:

    >>> choice = path.select(epsilon=0.05)
    >>> choice.step, choice.met, choice.discrimination, choice.accuracy
    (1, True, 0.0, 0.75)
    >>> path.choose(choice.bounds) == choice, path.counts_for(choice.confidence).rows
    (True, 'selection rows')
    >>> path.model_at(choice).predict(age).tolist()  # those of 20 are paid now
    [1, 1, 1, 1]
    >>> path.n_flips(1), path.scale(1), path.flips(1)[["leaf", "before", "after"]].tolist()
    (1, 1.0, [(1, 0.0, 1.0)])
    >>> print(path.rules(1, ["age"])[0])
    age <= 25 (not missing): becomes favorable

    Other rows tell whether the bound still holds:

    >>> later = path.measure([[22], [24], [60]], [1, 0, 1], ["f", "m", "m"])
    >>> later.discrimination.tolist(), later.verdict(choice).holds
    ([0.5, 0.0, -0.5], True)
    >>> later.plot(selection=choice).figure_.savefig("tradeoff.png")  # doctest: +SKIP
    """

    model: Any
    strategy: str
    direction: str
    comparison: Compared
    order: EditOrder
    leaf_counts: LeafCounts
    counts: PathCounts
    accuracy_counts: PathCounts
    searched_counts: PathCounts | None
    model_fingerprint: str
    trained: bool | None
    overlap: float
    repeats: int
    rows_to_check: RowsToCheck | None = None
    scored: RowHashes | None = None
    hashes: RowHashes | None = None

    def __getstate__(self) -> dict[str, Any]:
        stored = {field.name: getattr(self, field.name) for field in fields(self)}
        return stored | {"rows_to_check": None, "scored": None, "hashes": None}

    def __repr__(self) -> str:
        return (
            f"<FairnessPath of {type(self.model).__name__}: strategy {self.strategy!r}, {self.n_steps} steps, "
            f"{self.n_flips(self.n_steps)} leaves to edit; discrimination {self.discrimination[0]:.4f} at step 0 and "
            f"{self.discrimination[-1]:.4f} at the end, on the {self.counts.rows}>"
        )

    @property
    def grouping(self) -> Groups:
        """The groups that people are in."""
        return self.comparison.groups

    @property
    def constraint(self) -> Constraint:
        """What is bounded."""
        return self.comparison.constraint

    @property
    def favorable(self) -> Any:
        """The favourable class."""
        return self.comparison.favorable

    @property
    def label_sets(self) -> LabelSets | None:
        """The labels of a table that the favourable class stands for, and the others, where there are several."""
        return self.comparison.label_sets

    @property
    def groups(self) -> tuple[Any, ...]:
        """The groups that rows are counted in, in the order of ``counts``.

        Rates and numbers of rows are in the order of `compared`, where the privileged of two stands last.
        """
        return self.grouping.values

    @property
    def privileged(self) -> Any:
        """The privileged group, with which all others are compared; ``None`` where there is none.

        Where each of several attributes is compared by itself, a dict of those that have one.
        """
        named = {a.name: a.values[a.privileged] for a in self.grouping.attributes if a.privileged is not None}
        return named if len(self.grouping.attributes) > 1 else next(iter(named.values()), None)

    @property
    def n_steps(self) -> int:
        """Steps after step 0."""
        return self.order.n_steps

    @property
    def positions(self) -> np.ndarray:
        """How far each step is from the original model, shape (n_steps + 1,).

        The number of flipped leaves; with ``strategy="shift"``, how far along its line or curve.
        """
        return self.order.positions

    @property
    def discrimination(self) -> np.ndarray:
        """The largest difference that is bounded, after each step, on the rows that ``counts.rows`` names.

        Shape (n_steps + 1,). Signed where there is a privileged group: its rate minus that of another.
        """
        return self.counts.discrimination

    @cached_property
    def selection_rates(self) -> np.ndarray:
        """Share of favourable decisions after each step, on the same rows: shape (n_steps + 1, n_compared).

        Of the two groups, or of all that `compared` names.
        """
        favorable, totals = (
            self.grouping.count_compared(table) for table in (self.counts.favorable, self.counts.totals)
        )
        return metrics.selection_rate(favorable, totals)

    @property
    def accuracy(self) -> np.ndarray:
        """Accuracy after each step, shape (n_steps + 1,), on the rows that ``accuracy_counts.rows`` names."""
        return self.accuracy_counts.objective("accuracy")

    @property
    def accuracy_drop(self) -> np.ndarray:
        """By how much each step is less accurate than step 0."""
        return self.accuracy_counts.drop("accuracy")

    def objective_drop(self, objective: Objective) -> np.ndarray:
        """By how much each step is worse than step 0, by an ``objective`` of `select`; on the rows of accuracy.

        Parameters
        ----------
        objective : {"accuracy", "balanced_accuracy"} or 2 x 2 costs
            As in `select`.

        Returns
        -------
        ndarray of shape (n_steps + 1,)
            A drop of accuracy, or a rise of the mean cost per person.
        """
        return self.accuracy_counts.drop(check_objective(objective))

    def upper_limits(self, confidence: float = 0.95) -> np.ndarray:
        """The one-sided upper limit of the discrimination after each step.

        Of each step by itself; `select` says which of them hold together.

        Parameters
        ----------
        confidence : float in [0.5, 1)

        Returns
        -------
        ndarray of shape (n_steps + 1,)

        Raises
        ------
        ValueError
            If the rows have weights.
        """
        return self._check_limits(confidence).limits(confidence)

    def lower_limits(self, confidence: float = 0.95) -> np.ndarray:
        """The one-sided lower limit of the discrimination after each step, where it has a sign.

        Where several differences are bounded, each of them is one in both directions, and it is minus the upper limit.

        Parameters
        ----------
        confidence : float in [0.5, 1)

        Returns
        -------
        ndarray of shape (n_steps + 1,)

        Raises
        ------
        ValueError
            If the rows have weights.
        """
        return -self._check_limits(confidence).limits(confidence, exchanged=True)

    def _check_limits(self, confidence: float) -> PathCounts:
        """The counts that limits are of; raises where there are none."""
        check_confidence(confidence)
        if self.counts.weighted:
            raise ValueError(f"the {self.counts.rows} have a sample_weight, and limits count people; trace without it")
        return self.counts_for(confidence)

    def counts_for(self, confidence: float | None) -> PathCounts:
        """The counts by which a step is chosen, with confidence or without.

        Parameters
        ----------
        confidence : float in [0.5, 1), or None

        Returns
        -------
        PathCounts
            ``counts``, or with confidence ``certification_counts``.
        """
        return self.counts if confidence is None else self.certification_counts

    @cached_property
    def certification_counts(self) -> PathCounts:
        """The counts that can certify a bound: ``counts``, without those among which a step was looked for."""
        searched = self.searched_counts
        return self.counts if searched is None else self.counts.take_away(searched, self.counts.rows + KEPT_APART)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the path: of the model, of all edits and of what is compared, whichever rows it is measured on.

        Selections and records of edited models carry it, so that none is judged by the path of another.
        """
        digest = hashlib.sha256(self.model_fingerprint.encode())
        for name, value in sorted(self.order.__getstate__().items()):
            digest.update(name.encode())
            digest.update(value.tobytes() if isinstance(value, np.ndarray) else repr(value).encode())
        compared = self.comparison.describe()
        digest.update(repr((compared["grouping"], compared["constraint"], str(self.favorable))).encode())
        return digest.hexdigest()

    @property
    def known_rows(self) -> KnownRows:
        """What is known of the rows of ``counts``."""
        return KnownRows(self.fingerprint, self.trained, self.overlap, self.repeats, self.hashes)

    @property
    def seen(self) -> bool:
        """Whether leaves were scored by half of the rows of this path or more, or the model was trained on them.

        What a model does to them says little about other people. A path that was stored knows it only of the rows that
        it was stored with.
        """
        return self.known_rows.seen

    def metric(self, name: str) -> np.ndarray:
        """Any metric of `eifffel.metrics.METRICS` after each step, on the selection rows.

        Of several attributes that are compared each by itself, the worst; groups of too few rows are left out.

        Parameters
        ----------
        name : str
            A name in `eifffel.metrics.METRICS`.

        Returns
        -------
        ndarray of shape (n_steps + 1,)
            NaN where a rate is undefined.

        Raises
        ------
        ValueError
            If the name is not known, or the metric needs labels and the rows have none.
        """
        check_choice("metric", name, list(metrics.METRICS))
        kept = self.counts.constraint.find_bounded(self.grouping)
        return metrics.measure_groups(name, self.counts.favorable, self.counts.totals, self.grouping, kept)

    def select(
        self,
        *,
        epsilon: float | None = None,
        ratio: float | None = None,
        alpha: float | None = None,
        rule: str = "first",
        confidence: float | None = None,
        sides: str = BOTH,
        objective: Objective = "accuracy",
    ) -> Selection:
        """Select the step for a bound on discrimination and on the loss of accuracy; a look-up.

        Parameters
        ----------
        epsilon : float in [0, 1]
            Bound on discrimination.
        ratio : float in (0, 1], in place of epsilon
            The smallest of the rates that are compared must be at least so large a part of the largest: 0.8 is the
            four-fifths rule.
        alpha : float in [0, 1], optional
            Bound on the absolute drop of accuracy, or of what ``objective`` names; ``None`` is no limit.
        rule : {"first", "most_accurate", "paper"}
            The first step with ``abs(discrimination) <= epsilon`` and a drop ``<= alpha``; the most accurate of
            those, or best by the ``objective``; or where the loop of the paper's algorithms ends, the first step with
            ``discrimination <= epsilon`` or a drop ``>= alpha``.
        confidence : float in [0.5, 1), optional
            Choose among the steps that, with this confidence, keep the bound for people drawn as the selection rows
            were, and not only on these rows. Where several differences are bounded, a half of these rows is used to
            look for a step, and the other half certifies it. The rows must have had no part in training or scoring, and
            no weights that differ; bounds must not be chosen after a look at them, nor the best of several.
        sides : {"both", "upper"}
            Bound the difference of two groups in both directions, or only in that in which the privileged group is
            favoured, so that a step may favour the other one beyond the bound.
        objective : {"accuracy", "balanced_accuracy"} or 2 x 2 costs
            What ``alpha`` limits the loss of. Costs are ``[[a, b], [c, d]]``: of people with the unfavourable label
            that are decided unfavourably and favourably, then of those with the favourable one; ``alpha`` is then in
            their unit, a rise of the mean cost per person.

        Returns
        -------
        Selection
            Also where no step meets the bound: ``met`` is then ``False``, and the step the nearest.

        Raises
        ------
        ValueError
            If bounds make no sense together; or with ``confidence``, if the rows scored leaves or have weights that
            differ.

        Warns
        -----
        ConstraintNotMetWarning
            If no step meets the bound.
        FewRowsWarning
            If with ``confidence`` there are too few rows to choose well.
        SeenRowsWarning
            If leaves were scored by the rows that the step is chosen on; once for each path.

        See Also
        --------
        FairnessPath.verdict : Whether the bound holds on other rows.
        """
        return self.choose(
            Bounds(
                epsilon=epsilon,
                ratio=ratio,
                alpha=alpha,
                rule=rule,
                confidence=confidence,
                sides=sides,
                objective=objective,
            )
        )

    def choose(self, bounds: Bounds) -> Selection:
        """Select the step for bounds, as `select` does.

        Parameters
        ----------
        bounds : Bounds

        Returns
        -------
        Selection
        """
        counts = self.counts_for(bounds.confidence)
        selection = select_step(
            counts, self.searched_counts, self.accuracy_counts, self.grouping, bounds, self.known_rows
        )
        if bounds.rule != "paper" and not self._said:
            warn_of_known_rows(selection)
            self._said.append(SeenRowsWarning)
        return selection

    @cached_property
    def _said(self) -> list[type[Warning]]:
        """The warnings that this path has given, which it does not repeat."""
        return []

    def verdict(self, selection: Selection) -> Verdict:
        """Return whether the bound that chose a step still holds on the rows of this path, as after `measure`.

        Parameters
        ----------
        selection : Selection
            Of this path, before it was measured on other rows.

        Returns
        -------
        Verdict
            ``print`` says it in words.
        """
        check_own(selection, self.fingerprint)
        chosen = find_overlap(self.hashes, selection.hashes)
        return say_verdict(
            self.counts,
            self.accuracy_counts,
            self.grouping,
            selection,
            seen=self.seen or self.overlap > 0,
            chose=chosen > 0,
        )

    def n_flips(self, step: int) -> int:
        """Return how many leaves are edited at ``step``.

        Parameters
        ----------
        step : int
            From 0 to ``n_steps``.

        Returns
        -------
        int
        """
        return self.order.n_edited(check_step(step, self.n_steps))

    def scale(self, step: int) -> float:
        """Return the factor that draws all leaves towards the cut-off at ``step``, so that they stay probabilities.

        It changes no decision. 1 but for shifted forests, whose probabilities it narrows.

        Parameters
        ----------
        step : int
            From 0 to ``n_steps``.

        Returns
        -------
        float
        """
        return self.order.edit(self._view(), check_step(step, self.n_steps))[1]

    def model_at(self, step: int | Selection) -> Any:
        """Return a copy of the model with the edits up to ``step`` made: the same class, ready to predict.

        It is read back and, where the rows of the path are in memory, decides them again: its counts must be those of
        the path. It carries a record of the edit, with which `eifffel.undo` takes it back.

        Parameters
        ----------
        step : int or Selection
            From 0 to ``n_steps``; or what `select` chose, as a rule, and the record then holds by which bounds, and
            what was measured there.

        Returns
        -------
        fitted classifier
            With a Pipeline or whatever stood around the ensemble; attributes that no longer hold, such as
            ``oob_score_``, are gone.

        Raises
        ------
        ModelChangedError
            If the model is not the one that the path was traced for.
        ValueError
            If the selection is one of another path.

        Warns
        -----
        NarrowProbabilitiesWarning
            If a shift leaves the probabilities of a forest much nearer the cut-off.
        """
        selection = step if isinstance(step, Selection) else None
        if selection is not None:
            check_own(selection, self.fingerprint)
        place = check_step(step if selection is None else selection.step, self.n_steps)
        view = self._view()
        written, scale = edit_model(view, self.order, place, self.rows_to_check)
        record = make_record(
            view,
            written,
            self.comparison,
            strategy=self.strategy,
            direction=self.direction,
            step=place,
            scale=scale,
            path=self.fingerprint,
            selection=selection,
        )
        model = written.wrappers.outer
        attach_record(model, record)
        return model

    def flips(self, step: int) -> np.ndarray:
        """One record per leaf that is edited at ``step``, in the order of flipping, or the most shifted first.

        Fields: ``tree``; ``leaf``, its node id; ``before`` and ``after``, the favourable fraction, or what the leaf of
        a boosted ensemble adds to the favourable score; ``score``, for which it was flipped or along which it is
        shifted; ``step``, its first; and the scoring rows in the leaf per group and label, which are called
        `cell_names`. ``pandas.DataFrame(path.flips(step))`` makes a table of it.

        Parameters
        ----------
        step : int
            From 0 to ``n_steps``.

        Returns
        -------
        ndarray of records, of shape (n_flips,)

        See Also
        --------
        FairnessPath.rules : The same leaves in words.
        """
        step = check_step(step, self.n_steps)
        return list_flips(self._view(), self.order, self.leaf_counts, self.cell_names, step)

    @property
    def compared(self) -> tuple[str, ...]:
        """What numbers about those who are compared are called: of two groups, by their roles, else by their values."""
        return ROLES if self._has_roles else self.grouping.compared

    @property
    def cell_names(self) -> tuple[str, ...]:
        """What the counts of each group and label are called, ``unprivileged_unfavorable`` and so on."""
        names = tuple(map(show_group, self.groups))
        if self._has_roles:
            names = ROLES if self.grouping.privileged[0] == 1 else ROLES[::-1]
        return tuple(f"{name}_{label}" for name in names for label in LABELS)

    @property
    def _has_roles(self) -> bool:
        return len(self.groups) == 2 and self.grouping.privileged[0] is not None

    def rules(
        self, step: int, feature_names: Sequence[str] | None = None, *, which: Sequence[int] | None = None
    ) -> list[Rule]:
        """The leaves edited at ``step`` as readable rules, in the order of `flips`.

        Parameters
        ----------
        step : int
            From 0 to ``n_steps``.
        feature_names : sequence of str, optional
            By default the names that the ensemble was trained with, those that the pipeline before it gives, or x0,
            x1, ...
        which : sequence of int, optional
            Places in `flips`, for the rules of some leaves only.

        Returns
        -------
        list of Rule

        Raises
        ------
        UnsupportedModelError
            For boosted ensembles, of which rules are not read.
        """
        view = self._view()
        columns = view.columns if feature_names is None else plain_columns(list(feature_names))
        if len(columns) != len(view.feature_names):
            raise ValueError(f"feature_names has {len(columns)} names for {len(view.feature_names)} features")
        step = check_step(step, self.n_steps)
        leaves = self.order.leaves_at(step)
        if which is not None:
            leaves = leaves[list(which)]
        return read_rules(view, leaves, self.order.outcomes(view, leaves, step), columns)

    def measure(
        self,
        X: Any,
        y: Any,
        sensitive_features: Any,
        *,
        sample_weight: Any = None,
        features: Sequence[str] | None = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> "FairnessPath":
        """The same path on other rows, such as next month's; `verdict` says whether a bound still holds there.

        Parameters
        ----------
        X, y, sensitive_features, sample_weight
            In any of the forms that `trace_path` takes, Dask collections too, whatever the path was traced on. ``y``
            may be ``None``, and accuracy is then the one measured here.
        features : list of str, optional
            The columns of a table that are the model's features, in its order, for a model that was trained without
            names; see `trace_path`.
        n_jobs : int, optional
            Threads for the pass over rows; ``None`` for as many as the model has for its own. The workers of Dask take
            one for each partition, whatever it is.
        verbose : int
            Above 0, a progress bar appears on work over a second.

        Returns
        -------
        FairnessPath
            The same edits, with the counts of these rows.

        Raises
        ------
        ValueError, TypeError
            If rows have a group or a label that was not known when the path was traced, or are not what they should
            be, as in `trace_path`.

        Examples
        --------
        >>> from sklearn.tree import DecisionTreeClassifier
        >>> from eifffel import trace_path
        >>> age, paid, sex = [[20], [30], [40], [50]], [0, 1, 1, 1], ["f", "f", "m", "m"]
        >>> path = trace_path(DecisionTreeClassifier().fit(age, paid), age, paid, sensitive_features=sex)
        >>> later = path.measure([[22], [24], [60]], [1, 0, 1], ["f", "m", "m"])
        >>> later.discrimination.tolist(), later.counts.rows
        ([0.5, 0.0, -0.5], 'measured rows')

        Rows in collections of Dask are counted where they are, by the current client:

        >>> import dask.array as da
        >>> from dask.distributed import Client
        >>> X, y, s = (da.from_array(column, chunks=2) for column in ([[22], [24], [60]], [1, 0, 1], ["f", "m", "m"]))
        >>> with Client(processes=False, dashboard_address="127.0.0.1:0"):
        ...     path.measure(X, y, s).discrimination.tolist()
        [0.5, 0.0, -0.5]
        """
        names = check_features(features, (y, sensitive_features))
        given = read_rows(find_features(self.model), X, y, sensitive_features, sample_weight, features=names)
        return self.measure_batches(given, n_jobs=n_jobs, verbose=verbose)

    def measure_batches(self, given: Batches, *, n_jobs: int | None = None, verbose: int = 0) -> "FairnessPath":
        """`measure` for rows in batches of any kind, which `measure` itself makes of what it is given.

        Parameters
        ----------
        given : Batches
            A class of your own derived from `eifffel.rows.batches.Batches`, or one of those there.
        n_jobs, verbose
            As in `measure`.

        Returns
        -------
        FairnessPath

        Examples
        --------
        >>> from sklearn.tree import DecisionTreeClassifier
        >>> from eifffel import trace_path
        >>> age, paid, sex = [[20], [30], [40], [50]], [0, 1, 1, 1], ["f", "f", "m", "m"]
        >>> path = trace_path(DecisionTreeClassifier().fit(age, paid), age, paid, sensitive_features=sex)
        >>> from eifffel.rows.batches import Batch, OneBatch
        >>> later = OneBatch(Batch([[22], [24], [60]], [1, 0, 1], ["f", "m", "m"]))
        >>> path.measure_batches(later).discrimination.tolist()
        [0.5, 0.0, -0.5]
        """
        view = self._view()
        n_jobs = given.threads(view.jobs_for(n_jobs))
        constraint, measured = measure_given(view, self.comparison, given, self.order, n_jobs=n_jobs, verbose=verbose)
        counts, searched_counts = measured.path_counts(MEASURED_ROWS, constraint)
        assert measured.hashes is not None
        overlap, training = find_overlap(measured.hashes, self.scored), Training.of(view)
        # One that was trained apart from the rows of this path was trained on its scoring rows.
        trained = False if self.trained is False and self.scored is not None and overlap == 0 else None
        if training is not None and measured.in_tree is not None and training.among(measured.in_tree):
            trained = True
        has_labels = counts.totals.shape[-1] == 2
        return replace(
            self,
            counts=counts,
            accuracy_counts=counts if has_labels else self.accuracy_counts,
            searched_counts=searched_counts,
            trained=trained,
            overlap=overlap,
            repeats=measured.hashes.repeats,
            rows_to_check=measured.rows_to_check,
            hashes=measured.hashes,
        )

    def to_frame(self, backend: Literal["pandas", "polars"] = "pandas") -> Any:
        """One row per step: its position, discrimination, accuracy and selection rates.

        Where the rows have no labels, accuracy is called by the rows that it is of, such as ``scoring_accuracy``.

        Parameters
        ----------
        backend : {"pandas", "polars"}
            The library, which must be installed.

        Returns
        -------
        data frame of n_steps + 1 rows
        """
        check_choice("backend", backend, ("pandas", "polars"))
        import_optional(backend, "to_frame needs")
        where = "" if self.accuracy_counts is self.counts else f"{IN_COLUMNS[self.accuracy_counts.rows]}_"
        columns = {
            "step": np.arange(self.n_steps + 1),
            "position": self.positions,
            "discrimination": self.discrimination,
            f"{where}accuracy": self.accuracy,
            f"{where}accuracy_drop": self.accuracy_drop,
            **{
                f"selection_rate_{name}": rate for name, rate in zip(self.compared, self.selection_rates.T, strict=True)
            },
        }
        return nw.from_dict(columns, backend=backend).to_native()

    def plot(
        self, *, ax: Any = None, name: str | None = None, selection: Selection | None = None, **bounds: Any
    ) -> "FairnessPathDisplay":
        """Draw accuracy against discrimination, with the step that ``bounds`` select if they are given.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw, by default on a new figure.
        name : str, optional
            What the legend calls the path.
        selection : Selection, optional
            A step chosen before, to be marked where it is on these rows, here or as in ``path.measure(...).plot``.
        **bounds
            Those of `select`: ``epsilon`` and whatever goes with it.

        Returns
        -------
        FairnessPathDisplay
            With ``ax_`` and ``figure_``.
        """
        from eifffel.display import FairnessPathDisplay

        return FairnessPathDisplay.from_path(self, ax=ax, name=name, selection=selection, **bounds)

    def _view(self) -> EnsembleView:
        changed = ModelChangedError(
            f"the leaves of this {type(self.model).__name__} have changed since the path was traced (refitted or "
            "edited?); trace the path again"
        )
        try:
            view = view_ensemble(self.model, favorable=self.favorable)
        except (UnsupportedModelError, ValueError):  # it was a model of these labels when the path was traced
            raise changed from None
        if view.fingerprint() != self.model_fingerprint:
            raise changed
        if not self.order.matches(view.n_leaves) or len(self.leaf_counts.counts) != view.n_leaves:
            raise ValueError("the edits of this path are of other leaves than the model has; it is damaged")
        return view
