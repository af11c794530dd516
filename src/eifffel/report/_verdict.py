"""The verdict: one sentence on whether the bound holds, and on which rows that was measured."""

from typing import Any

from eifffel.objective import name_loss
from eifffel.verdict import judge

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
    if summary["rows"]["seen"]:
        cost += " Leaves were scored by these rows, so that they say little of other people."
    if epsilon is None:
        unjudged = {"epsilon": None, "holds": None, "chosen": None, "certain": None}
        return {**unjudged, "heading": "Measured", "sentence": f"{facts}.{cost}{_say_losers(summary)}"}
    selection = summary["selection"]
    if selection is not None and selection["epsilon"] != epsilon:  # judged by another bound than chose it
        selection = None
    signed = selection is not None and selection["confidence"] is not None
    judged = judge(value, (low, high), epsilon, signed=signed)
    chosen = None if selection is None else bool(selection["met"])
    past = signed and value < -epsilon
    mark = "!" if past else "✓" if judged.holds else "✗"
    return {
        "epsilon": epsilon,
        "holds": judged.holds,
        "chosen": chosen,
        "certain": judged.certain,
        "heading": "✗ The bound is not met" if chosen is False else f"{mark} {judged.heading}",
        "sentence": f"{facts}, {judged.clause}.{_on_choice(selection, judged.holds)}{cost}{_say_losers(summary)}",
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


def _say_losers(summary: dict[str, Any]) -> str:
    if summary["changed"] is None:
        return ""
    gained, lost = (sum(group[what] for group in summary["changed"]["groups"]) for what in ("gained", "lost"))
    losers = f"{lost:,} lose" if lost > 1 else "1 loses" if lost else "nobody loses"
    return f" By the edit {gained:,} of these people gain a favourable decision and {losers} one."


def _on_choice(selection: dict[str, Any] | None, holds: bool) -> str:
    if selection is None:
        return ""
    where, value = selection["discrimination_rows"], selection["discrimination"]
    where = f"{sum(selection['n_rows']):,} {where}"
    sure = selection["confidence"]
    if not selection["met"]:
        loss = name_loss(selection["objective"])
        limit = "" if selection["alpha"] is None else f" with a {loss} of at most {selection['alpha']:g}"
        certain = "" if sure is None else f" with {100 * sure:g}% confidence"
        return f" NOT MET: no step kept the bound{limit}{certain} on {where}; this is the nearest, {value:.3f} there."
    if sure is not None:
        return (
            f" The step was chosen on {where} so that, with {100 * sure:g}% confidence, the difference is at most the "
            f"bound for people drawn like them; it was {value:.3f} there, at most {selection['upper']:.3f}."
        )
    return "" if holds else f" It was met on {where} on which the step was chosen ({value:.3f} there)."
