"""Whether a summary is as the schema says: for those that were stored, and may be damaged."""

from typing import Any

TYPES: dict[str, Any] = {
    "object": dict,
    "array": list,
    "string": str,
    "number": (int, float),
    "integer": int,
    "boolean": bool,
    "null": type(None),
}
# What of JSON Schema the schema of summaries uses.
KNOWN = {
    *("$schema", "title", "description", "$defs"),  # which ask for nothing
    *("$ref", "type", "const", "enum", "anyOf", "minimum", "required", "properties", "additionalProperties", "items"),
}


def conforms(value: Any, rule: Any, definitions: dict[str, Any]) -> bool:
    """Whether a value is as a schema says.

    Parameters
    ----------
    value : object
        What JSON was read into.
    rule : dict or bool
        A schema, of the words in `KNOWN`.
    definitions : dict
        The schemas that others refer to by their names.
    """
    if isinstance(rule, bool):
        return rule
    assert set(rule) <= KNOWN, rule
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
    return isinstance(value, TYPES[name]) and (name == "boolean" or not isinstance(value, bool))
