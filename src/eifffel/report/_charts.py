"""The charts of a report, as Vega-Lite made with Altair. They take plain data."""

from collections.abc import Sequence
from functools import cache
from typing import Any

from eifffel._utils.optional import import_optional
from eifffel.report.facts import Changed, ComparedRates, Group, MeasuredRows, Tradeoff
from eifffel.selection.bounds import BOTH

# Okabe and Ito's colours, distinct without colour vision by lightness, and here by shape and dash too.
BLUE, ORANGE, GREEN, GREY = "#0072b2", "#d55e00", "#009e73", "#555555"


def _altair() -> Any:
    return import_optional("altair", "reports need")


def draw_tradeoff(path: Tradeoff, measured: MeasuredRows, constraint: ComparedRates) -> dict[str, Any]:
    """Accuracy against discrimination over the steps; the parameters ``chosen`` and ``bound`` move the marker."""
    alt = _altair()
    there = path.chosen_on.rows
    rows: list[dict[str, Any]] = []
    for k, point in enumerate(path.points):
        on = [(f"{there}, which chose the step", point.selection.discrimination, point.selection.accuracy)]
        discrimination, accuracy = point.overall.discrimination.value, point.overall.accuracy.value
        if measured.labelled and discrimination is not None and accuracy is not None:
            on.append((measured.name, discrimination, accuracy))
        for name, discrimination, accuracy in on:
            rows.append(
                {
                    "rows": name,
                    "point": k,
                    "step": point.step,
                    "discrimination": round(discrimination, 6),
                    "accuracy": round(accuracy, 6),
                    "leaves": point.changed_leaves,
                }
            )
    names = list(dict.fromkeys(row["rows"] for row in reversed(rows)))
    least = "-bound" if path.sides == BOTH else str(min(row["discrimination"] for row in rows))
    start = path.bounds[path.chosen_bound]
    chosen = alt.param(name="chosen", value=start.point)
    bound = alt.param(name="bound", value=start.bound)
    colors = [BLUE, ORANGE][: len(names)]
    x = alt.X("discrimination:Q", title=f"discrimination ({constraint.words})").scale(zero=True)
    y = alt.Y("accuracy:Q", title="accuracy").scale(zero=False)
    kind = alt.Color("rows:N", title=None).scale(domain=names, range=colors)
    legend = alt.Legend(orient="bottom", labelLimit=400, columns=1, symbolType="stroke", symbolSize=400)
    tooltip = ["rows:N", "step:Q", "leaves:Q", "discrimination:Q", "accuracy:Q"]
    band = (
        alt.Chart(alt.Data(values=[{}]))
        .transform_calculate(low=least if constraint.directed else "0", high="bound")
        .mark_rect(color=GREEN, opacity=0.15, clip=True)
        .encode(x=alt.X("low:Q"), x2="high:Q")
    )
    base = alt.Chart(alt.Data(values=rows))
    line = base.mark_line(strokeWidth=2).encode(
        x=x,
        y=y,
        color=kind.legend(legend),
        strokeDash=alt.StrokeDash("rows:N", title=None, legend=legend).scale(
            domain=names, range=[[1, 0], [5, 4]][: len(names)]
        ),
        order="step:Q",
        tooltip=tooltip,
    )
    first = (
        base.transform_filter("datum.point == 0")
        .mark_point(shape="square", size=110, filled=True)
        .encode(x=x, y=y, color=kind.legend(legend), tooltip=tooltip)
    )
    marker = (
        base.transform_filter("datum.point == chosen")
        .mark_point(shape="circle", size=190, filled=True, stroke="black", strokeWidth=2)
        .encode(x=x, y=y, color=kind.legend(legend), tooltip=tooltip)
    )
    bands = [band] if path.kind == "epsilon" else []  # a ratio bounds no difference
    chart = alt.layer(*bands, line, first, marker).add_params(chosen, bound)
    return _finish(chart, height=300)


def draw_changes(changed: Changed, groups: Sequence[Group]) -> dict[str, Any]:
    """How many people of each group gain and lose a favourable decision."""
    alt = _altair()
    rows = [
        {"group": group.name, "what": what, "people": sign * n_people, "label": n_people}
        for group, counts in zip(groups, changed.groups, strict=True)
        for what, sign, n_people in (("gained", 1, counts.gained), ("lost", -1, counts.lost))
        if n_people is not None
    ]
    base = alt.Chart(alt.Data(values=rows)).encode(
        y=alt.Y("group:N", title=None, sort=None).axis(labelLimit=220),
        x=alt.X("people:Q", title="people: lose (left), gain (right)")
        .scale(padding=30)
        .axis(labelExpr="abs(datum.value)", tickMinStep=1),
    )
    bars = base.mark_bar().encode(
        color=alt.Color("what:N", title=None)
        .scale(domain=["gained", "lost"], range=[BLUE, ORANGE])
        .legend(orient="bottom"),
        tooltip=["group:N", "what:N", "label:Q"],
    )
    texts = [
        base.transform_filter(f"datum.people {beyond} 0").mark_text(**place).encode(text="label:Q")
        for what, beyond, place in (
            ("gained", ">", {"align": "left", "dx": 4}),
            ("lost", "<", {"align": "right", "dx": -4}),
        )
        if any(row["what"] == what and row["people"] for row in rows)  # Vega warns of layers without data
    ]
    return _finish(alt.layer(bars, *texts), height=45 * len(groups))


def _finish(chart: Any, height: int) -> dict[str, Any]:
    chart = chart.properties(width="container", height=height, autosize={"type": "fit-x", "contains": "padding"})
    chart = chart.configure(background="transparent").configure_axis(labelFontSize=12, titleFontSize=12)
    spec: dict[str, Any] = chart.configure_legend(labelFontSize=12).to_dict()
    return spec


@cache
def bundle_scripts() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script, of the version that Altair writes for."""
    vl_convert = import_optional("vl_convert", "reports need")
    version = ".".join(_altair().SCHEMA_VERSION.lstrip("v").split(".")[:2])
    script: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version=version)
    return script
