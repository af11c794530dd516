"""An order of edits and a step -> the edited model, read back and asked to decide the rows at hand again."""

from eifffel.ensembles import EnsembleView, view_ensemble
from eifffel.exceptions import NarrowProbabilitiesWarning, ViewMismatchError, warn_caller
from eifffel.measuring import RowsAtHand
from eifffel.strategies import EditOrder

# Below it, the probabilities of a shifted forest lie so near the cut-off that they say little.
LEAST_SCALE = 0.5


def edit_model(
    view: EnsembleView, order: EditOrder, step: int, at_hand: RowsAtHand | None
) -> tuple[EnsembleView, float]:
    """A view of a copy of the model with the edits made, and the factor by which its leaves had to be scaled."""
    wanted, scale = order.edit(view, step)
    model = view.write(wanted)
    written = view_ensemble(model, favorable=view.classes.tolist()[view.favorable])
    if not written.holds(wanted):
        raise ViewMismatchError(f"the leaves written into the copy of this {type(model).__name__} read otherwise")
    if at_hand is not None:
        at_hand.check_written(written, step)
    if scale < LEAST_SCALE:
        warn_caller(
            f"at step {step} the leaves had to be scaled by {scale:.2g} to stay probabilities: predict is as measured, "
            "but predict_proba is narrowed towards the cut-off. Calibrate the edited model, or take strategy='leaf'",
            NarrowProbabilitiesWarning,
        )
    return written, scale
