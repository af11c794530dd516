"""The verdict: one sentence on whether the bound holds, and on which rows that was measured."""

from typing import Any

# By how much accuracy must exceed that of one decision for all.
LITTLE = 0.03


def say_verdict(summary: dict[str, Any], epsilon: float | None) -> dict[str, Any]:
    """Whether the bound holds on the rows of the report, and where it was chosen.

    ``holds`` is of the rows of the report; ``chosen`` of the rows that the step was chosen on; ``certain`` is whether
    the whole interval is within the bound, or all of it outside.
    """
    measured = summary["overall"]["after"]["discrimination"]
    value, low, high = measured["value"], measured["low"], measured["high"]
    where = f"{summary['rows']['n']:,} {summary['rows']['name']}"
    shares = [
        f"{group['after']['selection_rate']['value']:.1%} of those whose {summary['sensitive']} is {group['name']}"
        for group in summary["groups"]
    ]
    facts = (
        f"On {where}, the favourable decision, {summary['favorable']}, goes to {' and to '.join(shares)}: a difference "
        f"of {value:.3f} (95% interval {low:.3f} to {high:.3f})"
    )
    cost = _say_accuracy(summary)
    if epsilon is None:
        unjudged = {"epsilon": None, "holds": None, "chosen": None, "certain": None}
        return {**unjudged, "heading": "Measured", "sentence": f"{facts}.{cost}"}
    holds = abs(value) <= epsilon
    inside = -epsilon <= low and high <= epsilon
    outside = low > epsilon or high < -epsilon
    selection = summary["selection"]
    if selection is not None and selection["epsilon"] != epsilon:  # judged by another bound than chose it
        selection = None
    chosen = None if selection is None else bool(selection["met"])
    return {
        "epsilon": epsilon,
        "holds": holds,
        "chosen": chosen,
        "certain": inside or outside,
        "heading": _head(holds, chosen, inside or outside),
        "sentence": f"{facts}, {_judge(holds, inside, outside, epsilon)}.{_on_choice(selection, holds)}{cost}",
    }


def _say_accuracy(summary: dict[str, Any]) -> str:
    accuracy, constant = summary["overall"]["after"]["accuracy"]["value"], summary["overall"]["constant_accuracy"]
    if accuracy is None:
        return ""
    before = summary["overall"]["before"]
    was = "" if before is None else f", {before['accuracy']['value']:.3f} before the edit"
    # One that is hardly better than deciding alike about everybody has little left to decide with.
    little = f"; deciding the same about everybody would have {constant:.3f}" if accuracy < constant + LITTLE else ""
    return f" Accuracy is {accuracy:.3f}{was}{little}."


def _head(holds: bool, chosen: bool | None, certain: bool) -> str:
    if chosen is False:
        return "✗ The bound is not met"
    if holds:
        return "✓ Within the bound" if certain else "✓ Within the bound, though not beyond chance"
    return "✗ Outside the bound" if certain else "✗ Outside the bound, though not beyond chance"


def _judge(holds: bool, inside: bool, outside: bool, epsilon: float) -> str:
    if inside:
        return f"within the bound of {epsilon:g}, as is the whole interval"
    if outside:
        return f"outside the bound of {epsilon:g}, as is the whole interval"
    if holds:
        return f"within the bound of {epsilon:g}; the interval reaches beyond it, so chance may play a part"
    return f"outside the bound of {epsilon:g}; the interval reaches into it, so chance may play a part"


def _on_choice(selection: dict[str, Any] | None, holds: bool) -> str:
    if selection is None:
        return ""
    where, value = selection["discrimination_rows"], selection["discrimination"]
    if not selection["met"]:
        limit = "" if selection["alpha"] is None else f" with an accuracy drop of at most {selection['alpha']:g}"
        return f" NOT MET: no step kept the bound{limit} on the {where}; this is the nearest, {value:.3f} there."
    if not holds:
        return f" It was met on the {where} on which the step was chosen ({value:.3f} there)."
    return ""
