"""eifffel flip: edit a stored model without training it again."""

from eifffel.cli._app import command
from eifffel.cli._editing import describe, edit, read_editing, read_signs
from eifffel.cli._finish import check_targets, exit_unless_met, print_outcome, write_files
from eifffel.cli._options import (
    ModelOptions,
    OutputOptions,
    PeopleOptions,
    ResultOptions,
    StoredEditOptions,
    TableOptions,
)
from eifffel.cli._progress import Progress
from eifffel.cli._recorded import known_task, note_confidence, note_earlier_bounds, note_known_rows, trained_on
from eifffel.cli._stored import load_model, read_for_edit, sensitive_among
from eifffel.cli._watched import Source, Unedited


@command(example="eifffel flip model.skops people.csv --epsilon 0.02 --out fairer.skops --report report.html")
def flip(
    stored: ModelOptions,
    given: TableOptions,
    people: PeopleOptions,
    options: StoredEditOptions,
    result: ResultOptions,
    output: OutputOptions,
) -> None:
    """Make a stored model fair, without training it again.

    Best on rows that the model has not seen. A model that was edited is taken back to the original first. Columns and
    labels need not be named again for a model that eifffel fit made.
    """
    monotone, comparison, editing = read_signs(options.monotone), people.comparison, read_editing(options)
    data = given.data
    check_targets(overwrite=output.overwrite, model=result.out, report=result.report, reads=(stored.model, data))
    model = load_model(stored)
    if output.verbose and data.is_file():
        note_known_rows(model, data, options.seed)
    task = known_task(model, people.target, people.sensitive, comparison)
    table, task, original = read_for_edit(model, data, task, given, output)
    if output.verbose:
        note_confidence(model, data, editing.bounds)
        note_earlier_bounds(model, editing.bounds, editing.direction)
    about = describe(data, table, result.intended_use)
    source = Source(data, table, task, sensitive_columns=sensitive_among(table, task), about=about)
    unedited = Unedited(original, monotone=monotone, trained_on=trained_on(model))
    with Progress(("tracing", "measuring", "saving", "report"), verbose=output.verbose) as progress:
        edited = edit(unedited, source, editing, progress)
        write_files(progress, edited.summary, output, model=edited.model, out=result.out, report=result.report)
    print_outcome(edited.summary, output, out=result.out, report=result.report)
    exit_unless_met(edited, quiet=output.quiet)
