"""The options of commands, each declared once, in groups of those that belong together."""

from pathlib import Path
from typing import Annotated

import typer

from eifffel.cli._groups import OptionGroup, declares_options
from eifffel.comparison import Comparison
from eifffel.selection.bounds import BOTH
from eifffel.strategies import ANY, AUTO

# Options that a command takes by itself, or in more than one group. Files are checked where they are read, with errors
# of our own.
TableFile = Annotated[
    Path, typer.Argument(metavar="DATA", help="A table: .csv, .tsv or .parquet, also with .gz.", readable=False)
]
ReportFile = Annotated[
    Path | None, typer.Option(help="Write a report there: .html (opens in any browser), .md or .json.", metavar="FILE")
]
AllowPickle = Annotated[
    bool,
    typer.Option("--allow-pickle", help="Load a pickle or joblib file. It can run any code: only if you trust it."),
]
FeatureNames = Annotated[
    str | None,
    typer.Option(help="The columns that the model takes, in its order, separated by commas; if it knows no names."),
]
Separator = Annotated[str | None, typer.Option(help="What stands between the values of a CSV file, such as ';'.")]
DropMissing = Annotated[
    bool, typer.Option("--drop-missing", help="Leave out rows without a label or a group, and say how many.")
]
Epsilon = Annotated[
    float | None,
    typer.Option(help="Bound on the largest difference of the groups' rates of favourable decisions; by default 0.05."),
]
Jobs = Annotated[int | None, typer.Option(help="Threads; by default one per core.", min=1)]

PEOPLE_PANEL = "Labels and groups"
BOUNDS_PANEL = "Bounds and edits"
ROWS_PANEL = "Rows and threads"
TABLE_PANEL = "Table"
REPORT_PANEL = "Report"


@declares_options()
class OutputOptions(OptionGroup):
    """What a command says, and whether it replaces files."""

    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace files that exist.")] = False
    json: Annotated[bool, typer.Option("--json", help="Print JSON for machines, and nothing else.")] = False
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress bars and no words; errors are still said.")] = (
        False
    )
    debug: Annotated[bool, typer.Option("--debug", help="Show where an error comes from.")] = False

    @property
    def verbose(self) -> bool:
        """Whether there are progress bars and notes."""
        return not self.quiet

    @property
    def in_words(self) -> bool:
        """Whether the outcome is printed for people."""
        return not self.quiet and not self.json


@declares_options()
class ModelOptions(OptionGroup):
    """A model in a file."""

    model: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL",
            help="A model saved by eifffel or skops, or the own file of LightGBM, XGBoost or CatBoost.",
            readable=False,
        ),
    ]
    allow_pickle: AllowPickle = False


@declares_options(panel=PEOPLE_PANEL)
class ColumnOptions(OptionGroup):
    """The columns of labels and of groups, which a stored model may know."""

    target: Annotated[str | None, typer.Option(help="The column of labels.", metavar="COLUMN")] = None
    sensitive: Annotated[
        str | None, typer.Option(help="The column of groups, or several, separated by commas.", metavar="COLUMN")
    ] = None


@declares_options(panel=PEOPLE_PANEL)
class ComparisonOptions(OptionGroup):
    """What is favourable, who is compared, and by which rates."""

    favorable: Annotated[
        str | None,
        typer.Option(
            help="The label that is good for a person; several, separated by commas, stand against all others.",
            metavar="LABEL",
        ),
    ] = None
    privileged: Annotated[
        str | None,
        typer.Option(
            help="The privileged group, which others are compared with; as in sex=Male,race=White for several columns. "
            "By default, of two groups the one that the model favours, of more none.",
            metavar="GROUP",
        ),
    ] = None
    constraint: Annotated[
        str | None,
        typer.Option(
            help="Which rates are compared: demographic_parity (the default), equal_opportunity, predictive_equality "
            "or equalized_odds."
        ),
    ] = None
    combine: Annotated[
        str | None,
        typer.Option(help="With several columns of groups: each by itself (the default), or their intersection."),
    ] = None
    min_group_rows: Annotated[
        int | None,
        typer.Option(help="A group with fewer rows is left out of the bound, and named; by default 30.", min=0),
    ] = None
    missing: Annotated[
        str | None,
        typer.Option(
            help="What becomes of rows without a group: error (the default), own-group, or drop, which leaves them out "
            "of all counts."
        ),
    ] = None

    @property
    def comparison(self) -> Comparison:
        """What is to be compared, as it was typed."""
        return Comparison(
            self.favorable, self.privileged, self.constraint, self.combine, self.min_group_rows, self.missing
        )


@declares_options(panel=PEOPLE_PANEL)
class PeopleOptions(ComparisonOptions, ColumnOptions):
    """Both, for a stored model."""


@declares_options(panel=TABLE_PANEL)
class ReadingOptions(OptionGroup):
    """How a table is read for a stored model."""

    features: FeatureNames = None
    drop_missing: DropMissing = False
    separator: Separator = None


@declares_options(panel=TABLE_PANEL)
class TableOptions(ReadingOptions):
    """A table for a stored model, and how it is read."""

    data: TableFile


@declares_options(panel=BOUNDS_PANEL)
class BoundOptions(OptionGroup):
    """Within which bounds a model is edited, and how."""

    epsilon: Epsilon = None
    ratio: Annotated[
        float | None,
        typer.Option(
            help="In place of --epsilon: the smallest rate must be so large a part of the largest, such as 0.8."
        ),
    ] = None
    alpha: Annotated[
        float | None, typer.Option(help="Bound on the drop of accuracy, such as 0.02 for two points; by default none.")
    ] = None
    confidence: Annotated[
        float | None,
        typer.Option(
            help="Let the bound hold, with this confidence, such as 0.95, for people drawn like those of the table."
        ),
    ] = None
    sides: Annotated[
        str,
        typer.Option(
            help="Bound the difference of two groups in both directions, or, with upper, only in that in which the "
            "privileged one is favoured."
        ),
    ] = BOTH
    objective: Annotated[
        str,
        typer.Option(
            help="What --alpha limits the loss of: accuracy, balanced_accuracy, or the mean of four costs: of people "
            "with the bad label decided badly and well, then of those with the good one; such as 0,1,5,0."
        ),
    ] = "accuracy"
    strategy: Annotated[
        str,
        typer.Option(
            help="How leaves are edited: leaf, tree, shift, or auto (leaf for forests and two groups, else shift)."
        ),
    ] = AUTO
    direction: Annotated[
        str, typer.Option(help="Which way decisions may change: any, or up, so that nobody loses a favourable one.")
    ] = ANY


@declares_options(panel=ROWS_PANEL)
class EditOptions(BoundOptions):
    """The same with the rows that each thing is done on, and the threads that do it."""

    test_size: Annotated[float, typer.Option(help="Share of the rows that only the report is measured on.")] = 0.2
    selection_size: Annotated[float, typer.Option(help="Share of the other rows that the step is chosen on.")] = 0.25
    seed: Annotated[int, typer.Option(help="For the split of the rows, and for training.", min=0)] = 0
    jobs: Jobs = None


@declares_options(panel=BOUNDS_PANEL)
class StoredEditOptions(EditOptions):
    """How a stored model is edited."""

    monotone: Annotated[
        str | None,
        typer.Option(
            help="Features on which the model was trained to be monotone, if its file does not say so (XGBoost's): 1 "
            "for rising, -1 for falling, as in arrears:-1,income:1; or none. A monotone model is refused.",
            metavar="COLUMN:SIGN",
        ),
    ] = None


@declares_options(panel=REPORT_PANEL)
class ReportOptions(OptionGroup):
    """The report, and what it says of the use of a model."""

    report: ReportFile = None
    intended_use: Annotated[str | None, typer.Option(help="What the decisions are for, to be said in the report.")] = (
        None
    )


@declares_options()
class ResultOptions(ReportOptions):
    """What becomes of an edited model."""

    out: Annotated[Path, typer.Option(help="Write the edited model there.", metavar="FILE.skops")]
