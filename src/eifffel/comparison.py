"""Comparison: who is compared, by which rates, and what is favourable: asked once, and resolved once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from eifffel._utils.validation import check_choice, check_number, listed
from eifffel.constraints import DEMOGRAPHIC_PARITY, MIN_GROUP_ROWS, Constraint, make_constraint, resolve_constraint_name
from eifffel.exceptions import InputError, parameter
from eifffel.rows.batches import Batches
from eifffel.rows.coding import Coding
from eifffel.rows.groups import COMBINE, EACH, Groups, make_groups
from eifffel.rows.labels import LabelSets, check_favorable, check_two_labels, find_label_sets, split_favorable
from eifffel.rows.sensitive import DROP, ERROR, MISSING, match_names
from eifffel.rows.survey import Survey, survey_batches

__all__ = ["Compared", "Comparison"]


@dataclass(frozen=True)
class Comparison:
    """What a caller asks to be compared; see `eifffel.trace_path` for each. ``None`` is what was not given.

    Attributes
    ----------
    favorable : label or set of labels
    privileged : group, or dict of groups by attribute
    constraint : str
        As eifffel calls it, also where it was given by fairlearn's name.
    combine : str
    min_group_rows : int
    missing : str

    Raises
    ------
    ValueError, TypeError
        If one of them is not what it may be.

    Examples
    --------
    >>> from eifffel.comparison import Comparison
    >>> from eifffel.rows.batches import Batch, OneBatch
    >>> asked = Comparison(favorable="yes", constraint="TruePositiveRateParity")
    >>> people = OneBatch(Batch([[20], [30]], ["no", "yes"], ["f", "m"]))
    >>> compared = asked.resolve(["no", "yes"], asked.survey(people, rows="the rows"))
    >>> compared.constraint.name, compared.groups.values
    ('equal_opportunity', ('f', 'm'))
    """

    favorable: Any = None
    privileged: Any = None
    constraint: str | None = None
    combine: str | None = None
    min_group_rows: int | None = None
    missing: str | None = None

    def __post_init__(self) -> None:
        if self.constraint is not None:
            object.__setattr__(self, "constraint", resolve_constraint_name(self.constraint))
        if self.combine is not None:
            check_choice("combine", self.combine, COMBINE)
        if self.min_group_rows is not None:
            check_number("min_group_rows", self.min_group_rows, at_least=0, integer=True)
        if self.missing is not None:
            check_choice("missing", self.missing, MISSING)

    def or_else(self, other: "Comparison") -> "Comparison":
        """Return the comparison, with what was not given taken from another one."""
        own = {field.name: getattr(self, field.name) for field in fields(self)}
        return replace(other, **{name: value for name, value in own.items() if value is not None})

    def survey(self, given: Batches, *, rows: str, verbose: int = 0) -> Survey:
        """What rows hold that is compared; ``rows`` names them in errors."""
        return survey_batches(given, ERROR if self.missing is None else self.missing, rows=rows, verbose=verbose)

    def resolve(self, classes: Sequence[Any] | None, survey: Survey, others: Survey | None = None) -> "Compared":
        """Everything that is compared.

        Parameters
        ----------
        classes : sequence of two labels, optional
            Those of the model; ``None`` where it is yet to be trained, on the labels of these rows.
        survey : Survey
            Of the rows.
        others : Survey, optional
            Of further rows; some groups and labels may occur only there.

        Returns
        -------
        Compared
        """
        labels = survey.labels
        if classes is None and labels is None:
            raise ValueError("fit requires y to be passed, but the target y is None")
        favorable, good = split_favorable(self.favorable, labels, classes)
        label_sets = None
        if good is not None and labels is not None:
            label_sets = find_label_sets("y", labels, good, () if others is None else others.labels or ())
        if classes is None:
            classes = [0, 1]
            if label_sets is None:
                check_two_labels(labels or (), sets=True, favorable=self.favorable)
                classes = labels or ()
        favorable = classes[check_favorable(np.array(classes, object), favorable)]
        asked, groups = self.or_else(USUAL), self.find_groups(survey, others)
        constraint = make_constraint(asked.constraint, groups, min_group_rows=asked.min_group_rows)
        return Compared(tuple(classes), favorable, label_sets, groups, constraint)

    def find_groups(self, survey: Survey, others: Survey | None = None) -> Groups:
        """Return the groups; see `resolve`."""
        asked, also = self.or_else(USUAL), None if others is None else others.values
        kinds: dict[str, Any] = {"combine": asked.combine, "missing": asked.missing, "privileged": asked.privileged}
        return make_groups(survey.values, also=also, **kinds)


# What is compared where nobody says otherwise.
USUAL = Comparison(constraint=DEMOGRAPHIC_PARITY, combine=EACH, min_group_rows=MIN_GROUP_ROWS, missing=ERROR)


@dataclass(frozen=True, eq=False)
class Compared:
    """Who is compared, by which rates, and what is favourable, for a model and rows.

    Attributes
    ----------
    classes : tuple of two labels
        Those of the model.
    favorable : label
        The favourable one of them.
    label_sets : LabelSets or None
        The labels of a table that it stands for, and the others, where there are several.
    groups : Groups
        The groups that people are in.
    constraint : Constraint
        What is bounded.

    See Also
    --------
    Comparison.resolve : Makes one.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from eifffel import trace_path
    >>> age, paid, sex = [[20], [30], [40], [50]], [0, 1, 1, 1], ["f", "f", "m", "m"]
    >>> path = trace_path(DecisionTreeClassifier().fit(age, paid), age, paid, sensitive_features=sex)
    >>> path.comparison.classes, path.comparison.favorable, path.comparison.groups.values
    ((0, 1), 1, ('f', 'm'))
    """

    classes: tuple[Any, ...]
    favorable: Any
    label_sets: LabelSets | None
    groups: Groups
    constraint: Constraint

    @property
    def coding(self) -> Coding:
        """How labels and groups are counted."""
        classes = np.array(self.classes)
        return Coding(classes, check_favorable(classes, self.favorable), self.groups, self.label_sets)

    @property
    def lacks_privileged(self) -> bool:
        """Whether one rate of two groups is compared, and neither was named as privileged."""
        return len(self.groups) == 2 and not self.constraint.several and self.groups.privileged[0] is None

    def name_privileged(self, place: int) -> "Compared":
        """Name the one of two groups at that place as the privileged one."""
        groups = replace(self.groups, privileged=(place,))
        constraint = make_constraint(self.constraint.name, groups, min_group_rows=self.constraint.min_rows)
        return replace(self, groups=groups, constraint=constraint)

    def name_favored(self, favorable: np.ndarray, totals: np.ndarray) -> "Compared":
        """Name the favoured of two groups as the privileged one, where none is named.

        Parameters
        ----------
        favorable, totals : ndarray of shape (n_groups, n_labels)
            Rows decided favourably, and all of them; of equal rates the first group is favoured.
        """
        if not self.lacks_privileged:
            return self
        return self.name_privileged(int(self.constraint.find_advantage(favorable, totals)[0] > 0))

    def on_path(self, asked: Comparison, given: Batches, *, rows: str) -> "Compared":
        """What is compared on rows that a path of this comparison is measured on; its groups stay as they are.

        Parameters
        ----------
        asked : Comparison
            What is to be compared otherwise: rates may be.
        given : Batches
            The rows, which ``rows`` names in errors.
        """
        self._check_same_groups(asked)
        survey = replace(asked, missing=self.groups.missing).survey(given, rows=rows)
        self._check_same_favorable(asked, survey)
        constraint = self._bound_again(asked, self.groups, same=True, labelled=survey.labels is not None)
        return replace(self, constraint=constraint)

    def on_rows(self, asked: Comparison, given: Batches, *, rows: str) -> tuple["Compared", bool]:
        """What is compared on rows by a model that was edited for this comparison.

        Parameters
        ----------
        asked : Comparison
            What is to be compared otherwise.
        given : Batches
            The rows, which ``rows`` names in errors.

        Returns
        -------
        tuple of Compared and bool
            With whether the groups are those of the edit, so that its bound is about them.
        """
        # The edit knew what to do with rows without a group, if there were any.
        missing = self.groups.missing if asked.missing in (None, ERROR) else str(asked.missing)
        survey = replace(asked, missing=missing).survey(given, rows=rows)
        self._check_same_favorable(asked, survey)
        groups = replace(self.groups, missing=missing)
        same = self._is_alike(asked, groups, survey)
        if same and asked.privileged is not None:
            same = groups.find_privileged(asked.privileged).privileged == groups.privileged
            asked = asked if same else replace(asked, combine=groups.combine, missing=groups.missing)
        if not same:
            groups = asked.find_groups(asked.survey(given, rows=rows))
        constraint = self._bound_again(asked, groups, same=same, labelled=survey.labels is not None)
        return replace(self, groups=groups, constraint=constraint), same

    def _check_same_groups(self, asked: Comparison) -> None:
        """Raise if other groups are asked for than those of a path."""
        groups = self.groups
        if asked.combine not in (None, groups.combine) and len(groups.columns) > 1:
            raise InputError(
                parameter("combine")
                + f" must be {groups.combine!r}, as in the path, got {asked.combine!r}; leave it out"
            )
        if asked.missing not in (None, groups.missing):
            raise InputError(
                parameter("missing")
                + f" must be {groups.missing!r}, as in the path, got {asked.missing!r}; leave it out"
            )
        if asked.privileged is not None and groups.find_privileged(asked.privileged).privileged != groups.privileged:
            known = [of.values[of.privileged] for of in groups.attributes if of.privileged is not None]
            raise InputError(
                parameter("privileged")
                + f" must be {', '.join(map(repr, known)) or None}, as in the path, got {asked.privileged!r}; "
                "leave it out"
            )

    def _check_same_favorable(self, asked: Comparison, survey: Survey) -> None:
        """Raise if another decision is to be favourable than the model was edited for."""
        favorable, good = split_favorable(asked.favorable, survey.labels, self.classes)
        known = None if self.label_sets is None else set(self.label_sets.good)
        if favorable is not None and (favorable != self.favorable or good != known):
            raise InputError(
                parameter("favorable")
                + f" must be {listed([self.favorable] if self.label_sets is None else self.label_sets.good)}, "
                "for which the model was edited, got "
                f"{listed([favorable] if good is None else sorted(good, key=str))}; leave it out"
            )

    def _is_alike(self, asked: Comparison, groups: Groups, survey: Survey) -> bool:
        """Whether rows have the groups of the edit, made in the same way."""
        if asked.combine not in (None, groups.combine) and len(groups.columns) > 1:
            return False
        if groups.missing != self.groups.missing and groups.missing != DROP:  # a group that the edit did not know
            return False
        found = make_groups(survey.values, combine=groups.combine, missing=groups.missing)
        columns = match_names(list(zip(found.names, found.columns, strict=True)), groups.names)
        both = zip((values for _, values in columns), groups.columns, strict=False)
        return len(columns) == len(groups.columns) and not any(set(own).isdisjoint(other) for own, other in both)

    def _bound_again(self, asked: Comparison, groups: Groups, *, same: bool, labelled: bool) -> Constraint:
        """Which rates are compared: those asked for, those of the edit, or selection rates, which need no labels."""
        usual = make_constraint(USUAL.constraint, groups, min_group_rows=USUAL.min_group_rows)
        known = self.constraint if same else usual
        name = known.name if labelled or not known.needs_labels else usual.name
        name = name if asked.constraint is None else asked.constraint
        least = known.min_rows if asked.min_group_rows is None else asked.min_group_rows
        if groups is self.groups and (name, least) == (known.name, known.min_rows):
            return known
        return make_constraint(name, groups, min_group_rows=least)

    def describe(self) -> dict[str, Any]:
        """Everything as plain values, from which `read_compared` makes the same."""
        groups = self.groups
        return {
            "grouping": {
                "columns": [list(values) for values in groups.columns],
                "names": list(groups.names),
                "combine": groups.combine,
                "missing": groups.missing,
                "privileged": list(groups.privileged),
            },
            "constraint": {"name": self.constraint.name, "min_group_rows": self.constraint.min_rows},
            "classes": list(self.classes),
            "favorable": self.favorable,
            "label_sets": None if self.label_sets is None else [list(labels) for labels in self.label_sets],
        }


def read_grouping(plain: Mapping[str, Any]) -> Groups:
    """Read the groups from what `Compared.describe` gave; their combinations are not made yet."""
    stored = plain["grouping"]
    return Groups(
        tuple(map(tuple, stored["columns"])),
        tuple(stored["names"]),
        stored["combine"],
        stored["missing"],
        tuple(stored["privileged"]),
    )


def read_compared(plain: Mapping[str, Any]) -> Compared:
    """Read what was compared from what `Compared.describe` gave."""
    groups, bounded, sets = read_grouping(plain), plain["constraint"], plain["label_sets"]
    constraint = make_constraint(bounded["name"], groups, min_group_rows=bounded["min_group_rows"])
    label_sets = None if sets is None else LabelSets.of(*sets)
    return Compared(tuple(plain["classes"]), plain["favorable"], label_sets, groups, constraint)
