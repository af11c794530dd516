"""The schema of a summary as JSON, and whether one that was stored, and may be damaged, is as it says."""

import json
from importlib.resources import files
from typing import Any

JSON_TYPES: dict[str, Any] = {
    "object": dict,
    "array": list,
    "string": str,
    "number": (int, float),
    "integer": int,
    "boolean": bool,
    "null": type(None),
}
# What of JSON Schema the schema of summaries uses.
KEYWORDS = {
    *("$schema", "title", "description", "$defs"),  # which ask for nothing
    *("$ref", "type", "const", "enum", "anyOf", "minimum", "required", "properties", "additionalProperties", "items"),
}


def schema() -> dict[str, Any]:
    """The JSON Schema of a summary, and so of a report in a ``.json`` file.

    Returns
    -------
    dict

    Examples
    --------
    >>> from eifffel.report import schema, summarize_decisions
    >>> summary = summarize_decisions(["yes", "no"] * 20, sensitive_features=["f", "f", "m", "m"] * 10, favorable="yes")
    >>> sorted(summary.to_dict()) == sorted(schema()["properties"])
    True
    """
    text = files("eifffel.report").joinpath("schema.json").read_text(encoding="utf-8")
    parsed: dict[str, Any] = json.loads(text)
    return parsed


def conforms(value: Any, rule: Any, definitions: dict[str, Any]) -> bool:
    """Whether a value is as a schema says.

    Parameters
    ----------
    value : object
        What JSON was read into.
    rule : dict or bool
        A schema, of the words in `KEYWORDS`.
    definitions : dict
        The schemas that others refer to by their names.
    """
    if isinstance(rule, bool):
        return rule
    assert set(rule) <= KEYWORDS, rule
    if "$ref" in rule and not conforms(value, definitions[rule["$ref"].rpartition("/")[2]], definitions):
        return False
    if "type" in rule:
        names = [rule["type"]] if isinstance(rule["type"], str) else rule["type"]
        if not any(_is_of(value, name) for name in names):
            return False
    if ("const" in rule and value != rule["const"]) or ("enum" in rule and value not in rule["enum"]):
        return False
    if "anyOf" in rule and not any(conforms(value, other, definitions) for other in rule["anyOf"]):
        return False
    if "minimum" in rule and _is_of(value, "number") and value < rule["minimum"]:
        return False
    if isinstance(value, dict):
        known, others = rule.get("properties", {}), rule.get("additionalProperties", True)
        if not set(rule.get("required", ())) <= set(value):
            return False
        return all(conforms(inner, known.get(name, others), definitions) for name, inner in value.items())
    if isinstance(value, list) and "items" in rule:
        return all(conforms(inner, rule["items"], definitions) for inner in value)
    return True


def _is_of(value: Any, name: str) -> bool:
    return isinstance(value, JSON_TYPES[name]) and (name == "boolean" or not isinstance(value, bool))
