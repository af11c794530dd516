"""What a report says is written to plain data and read back, whatever it is."""

import json
from dataclasses import fields

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eifffel.report import conforms, read_summary, render_json, schema, summarize_decisions
from eifffel.report.facts import SCHEMA_NAME, About, ChosenStep, Group, Summary, Tradeoff, read, to_plain
from eifffel.selection.shortfall import KINDS, Shortfall

st.register_type_strategy(float, st.floats(-1e6, 1e6))
ABOUTS = st.builds(About, trained_on=st.none() | st.dictionaries(st.text(), st.integers() | st.text()))


def names_of(kind):
    return {field.name for field in fields(kind)}


def decided(**options):
    return summarize_decisions([1, 0, 1, 1] * 10, sensitive_features=["f", "f", "m", "m"] * 10, **options)


@settings(deadline=None, max_examples=25, suppress_health_check=list(HealthCheck))
@given(st.data())
@pytest.mark.parametrize("kind", [Group, ChosenStep, Tradeoff, About])
def test_parts_are_read_back_as_they_were(kind, data):
    part = data.draw(ABOUTS if kind is About else st.from_type(kind))
    plain = json.loads(json.dumps(to_plain(part)))
    assert plain == to_plain(part)
    assert read(plain, kind) == part


def test_a_summary_is_as_the_schema_says():
    summary = decided(epsilon=0.2)
    assert summary.schema == SCHEMA_NAME == schema()["properties"]["schema"]["const"]
    assert conforms(summary.to_dict(), schema(), schema()["$defs"])
    assert set(summary.to_dict()) == set(schema()["properties"])
    assert read_summary(summary.to_dict()) == summary


def test_a_chosen_step_whose_bound_is_not_certified_is_as_the_schema_says():
    step = schema()["properties"]["selection"]
    why = step["properties"]["shortfall"]
    assert set(step["properties"]) == set(step["required"]) == names_of(ChosenStep)
    assert set(why["properties"]) == set(why["required"]) == names_of(Shortfall)
    assert why["properties"]["kind"]["enum"] == list(KINDS)


def test_more_or_less_than_a_summary_is_refused():
    plain = json.loads(render_json(decided()))
    with pytest.raises(TypeError, match="a report's Summary has no more"):
        read_summary({**plain, "more": 1})
    plain["groups"][0]["after"]["precision"]["middle"] = 1
    with pytest.raises(TypeError, match="a report's Estimate has no middle"):
        read_summary(plain)
    with pytest.raises(TypeError, match="missing 1 required keyword-only argument: 'rows'"):
        read_summary({name: part for name, part in decided().to_dict().items() if name != "rows"})


@pytest.mark.parametrize(
    ("options", "kind", "heading"),
    [
        ({}, "measured", "Measured"),
        ({"epsilon": 0.9}, "within", "✓ Within the bound"),
        ({"epsilon": 0.5}, "within", "✓ Within the bound, but it may be chance"),
        ({"epsilon": 0.01}, "outside", "✗ Outside the bound"),
        ({"ratio": 0.9}, "outside", "✗ Outside the bound"),
    ],
)
def test_verdicts_have_a_kind(options, kind, heading):
    verdict = decided(**options).verdict
    assert (verdict.kind, verdict.heading) == (kind, heading)
    assert verdict.holds == {"measured": None, "within": True, "outside": False}[kind]


def test_summaries_cannot_be_changed():
    with pytest.raises(AttributeError, match="cannot assign to field 'favorable'"):
        decided().favorable = "no"
    assert isinstance(decided(), Summary)
