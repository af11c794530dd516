"""Damages of stored models: numbers, shapes, types and structure changed in one place or two of a file."""

import copy
import io
import json
import re

import numpy as np

ABOUT, SCHEMA = "eifffel.json", "schema.json"
# What the whole of a library's own file is called here.
NATIVE = "native"
NUMBERS = (
    -1,
    0,
    1,
    2,
    3,
    7,
    1000,
    10**6,
    2**31 - 1,
    2**31,
    2**40,
    -(2**31),
    2**63 - 1,
    0.5,
    float("nan"),
    float("inf"),
)
OTHERS = (None, "text", "", True, [], {}, [0], {"a": 1}, "0", "zero", "drop")


def pick(rng, options):
    return options[int(rng.integers(len(options)))]


def damage_number(rng, number):
    if rng.random() < 0.2:
        return pick(rng, OTHERS)
    if rng.random() < 0.5 and not isinstance(number, bool):
        return number + pick(rng, (1, -1, 1000, -1000))
    return pick(rng, NUMBERS)


def damage_value(rng, value):
    """Another value in the place of a plain one, or in some place inside it."""
    if isinstance(value, bool | int | float):
        return damage_number(rng, value)
    if isinstance(value, str) and len(value) > 200:
        return damage_text(rng, value)
    if isinstance(value, dict) and value and rng.random() < 0.9:
        name = pick(rng, list(value))
        if rng.random() < 0.1:
            return {key: inner for key, inner in value.items() if key != name}
        return {**value, name: damage_value(rng, value[name])}
    if isinstance(value, list) and value and rng.random() < 0.8:
        place = int(rng.integers(len(value)))
        how = rng.random()
        if how < 0.1:
            return value[:place]
        if how < 0.2:
            return value * 100
        return [*value[:place], damage_value(rng, value[place]), *value[place + 1 :]]
    return pick(rng, (*OTHERS, *NUMBERS))


def damage_text(rng, text):
    """Another text: one of its numbers changed, a line taken out or doubled, the end cut off."""
    how = rng.random()
    if how < 0.7:
        found = list(re.finditer(r"-?\d+(\.\d+)?([eE][-+]?\d+)?", text))
        if found:
            # Most of a text is digits of thresholds; each line is as likely as any other.
            line = pick(rng, sorted({text.count("\n", 0, match.start()) for match in found[:3000]}))
            match = pick(rng, [match for match in found[:3000] if text.count("\n", 0, match.start()) == line])
            return text[: match.start()] + str(pick(rng, NUMBERS)) + text[match.end() :]
    lines = text.split("\n")
    place = int(rng.integers(len(lines)))
    if how < 0.8:
        return "\n".join(lines[:place] + lines[place + 1 :])
    if how < 0.9:
        return "\n".join([*lines[:place], lines[place], *lines[place:]])
    return text[: int(rng.integers(len(text)))]


def damage_array(rng, array):
    """Another array: some numbers, the shape or the type changed."""
    how = rng.random()
    if how < 0.6 and array.size:
        array = array.copy()
        part = array[pick(rng, array.dtype.names)] if array.dtype.names else array
        # One number, or all of them.
        place = slice(None) if rng.random() < 0.3 else int(rng.integers(part.size))
        flat = part.reshape(-1) if part.flags.c_contiguous else part
        try:
            with np.errstate(all="ignore"):
                if part.dtype.kind in "iuf" and rng.random() < 0.3:
                    flat[place] += np.asarray(pick(rng, (1, 1000, -1000))).astype(part.dtype)
                elif part.dtype.kind in "iuf":
                    flat[place] = np.asarray(pick(rng, NUMBERS)).astype(part.dtype)
                elif part.dtype.kind == "b":
                    flat[place] = ~flat[place]
                else:
                    flat[place] = flat[0]
        except (OverflowError, ValueError):
            flat[place] = flat[0]
        return array
    if how < 0.85:
        n_rows = len(array) if array.ndim else 0
        shapes = [
            lambda: array[: n_rows // 2],
            lambda: array[:0],
            lambda: np.concatenate([array] * 300),
            lambda: np.concatenate([array, array[:1]]),
            lambda: array[:-1],
            lambda: array.T,
            lambda: np.asfortranarray(array),
            lambda: array[..., :0],
            lambda: np.concatenate([array] * 2, axis=-1),
            lambda: array.reshape(-1),
            lambda: array.reshape(1, *array.shape),
            lambda: array.reshape(()),
            lambda: array.reshape(-1, 1),
        ]
        try:
            return pick(rng, shapes)()
        except (ValueError, IndexError):
            return array[None][:0]
    kinds = (
        "int8",
        "uint8",
        "int32",
        "uint64",
        "float32",
        "float64",
        ">i8",
        "bool",
        "U3",
        "complex64",
        "datetime64[s]",
        "V0",
    )
    try:
        return array.astype(pick(rng, kinds))
    except (ValueError, TypeError):
        return np.zeros(array.shape, pick(rng, kinds[:6]))


def nodes_of(schema):
    """Every node, with what it stands in and where: where something is put in its place."""
    pending, found = [(schema, None, None)], []
    while pending:
        item, parent, place = pending.pop()
        if isinstance(item, dict):
            if "__loader__" in item:
                found.append((item, parent, place))
            pending.extend((inner, item, name) for name, inner in item.items())
        elif isinstance(item, list):
            pending.extend((inner, item, k) for k, inner in enumerate(item))
    return found


def plain_node(value):
    return {
        "__class__": "str",
        "__module__": "builtins",
        "__loader__": "JsonNode",
        "content": json.dumps(value),
        "is_json": True,
    }


def damage_structure(rng, schema):
    """Another structure: a node is replaced, or some of those in it are taken out or doubled."""
    found = nodes_of(schema)[1:]
    node, parent, place = pick(rng, found)
    how = rng.random()
    if how < 0.25:
        parent[place] = plain_node(pick(rng, (*OTHERS, *NUMBERS)))
        return f"{where(node)} is a plain value"
    if how < 0.45:
        other = copy.deepcopy(pick(rng, found)[0])
        if rng.random() < 0.5:
            drop_numbers(other)
        parent[place] = other
        return f"{where(node)} is {where(other)}"
    if how < 0.55:
        other = pick(rng, found)[0]
        names = pick(rng, (("__class__", "__module__"), ("__loader__",), ("__id__",)))
        node.update({name: other[name] for name in names if name in other})
        return f"{names[0]} of {where(node)} is that of {where(other)}"
    lists = [
        (node, node["content"])
        for node, *_ in found
        if isinstance(node.get("content"), list | dict) and node["content"]
    ]
    node, content = pick(rng, lists)
    if isinstance(content, dict):
        name = pick(rng, list(content))
        if rng.random() < 0.3:
            shadow = pick(
                rng,
                (
                    "_validate_X_predict",
                    "predict",
                    "positions",
                    "_in_fit",
                    "apply",
                    "pairs",
                    "values",
                    "n_features_in_",
                ),
            )
            content[shadow] = copy.deepcopy(content[name])
            for types in (node.get("key_types"),):
                if types and types.get("content"):
                    types["content"].append(copy.deepcopy(types["content"][0]))
            return f"{shadow} is put into {where(node)}"
        del content[name]
        return f"{name} is taken out of {where(node)}"
    times = pick(rng, (0, 2, 300))
    if times:
        node["content"] = content * times
    else:
        node["content"] = content[: int(rng.integers(len(content)))]
    return f"{where(node)} is {times} times as long"


def drop_numbers(node):
    for inner, *_ in nodes_of(node):
        inner.pop("__id__", None)


def where(node):
    return f"{node.get('__module__')}.{node.get('__class__')} ({node.get('__loader__')})"


def read_npy(data):
    return np.load(io.BytesIO(data), allow_pickle=False)


def write_npy(array):
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def damage_bytes(rng, data, xgboost_document):
    """The bytes of a booster, changed; those of XGBoost also as the document that they are."""
    if xgboost_document is not None and rng.random() < 0.8:
        document = xgboost_document
        model = document.get("Model", document)
        booster = model["learner"]["gradient_booster"]["model"]
        tree = pick(rng, booster["trees"])
        part = pick(rng, (document, model, model["learner"], booster, tree, tree, tree, tree["tree_param"]))
        name = pick(rng, list(part))
        part[name] = damage_value(rng, part[name])
        return json.dumps(document).encode(), f"{name} of XGBoost's document"
    damaged = bytearray(data)
    how = rng.random()
    place = int(rng.integers(len(damaged)))
    if how < 0.6:
        damaged[place] = pick(rng, (0, 1, 127, 128, 255, int(rng.integers(256))))
    elif how < 0.8:
        damaged[place : place + 4] = pick(
            rng, (b"\xff\xff\xff\xff", b"\x00\x00\x00\x00", b"\xe8\x03\x00\x00", b"\xff\xff\xff\x7f")
        )
    elif how < 0.9:
        del damaged[place:]
    else:
        damaged[place:place] = bytes(damaged[place : place + 40])
    return bytes(damaged), f"byte {place} of {len(data)}"


def damage(rng, members, documents):
    """Damage the members of a file in one place or two; says where."""
    said = []
    for _ in range(pick(rng, (1, 1, 1, 2))):
        if NATIVE in members:
            members[NATIVE], place = damage_native(rng, members[NATIVE], None if said else documents())
            said.append(place)
            continue
        schema = json.loads(members[SCHEMA])
        arrays = [name for name in members if name.endswith(".npy")]
        binary = [name for name in members if name.endswith(".bin")]
        plain = [
            node for node, *_ in nodes_of(schema) if node["__loader__"] == "JsonNode" and is_json(node.get("content"))
        ]
        texts = [node for node in plain if len(node["content"]) > 1000]
        options = ["array"] * 4 * bool(arrays) + ["value"] * 3 + ["structure"] * 2
        options += ["bytes"] * 4 * bool(binary) + ["text"] * 6 * bool(texts)
        how = pick(rng, options) if rng.random() < 0.98 else "about"
        if how == "array":
            name = pick(rng, arrays)
            old = read_npy(members[name])
            new = damage_array(rng, old)
            members[name] = write_npy(new)
            said.append(f"array {name} {old.dtype} {old.shape} of {owner_of(schema, name)} -> {new.dtype} {new.shape}")
        elif how in ("value", "text"):
            node = pick(rng, plain if how == "value" else texts)
            old = json.loads(node["content"])
            new = damage_value(rng, old)
            node["content"] = json.dumps(new)
            members[SCHEMA] = json.dumps(schema).encode()
            said.append(f"{owner_of(schema, node)}: {differing(str(old), str(new))}")
        elif how == "structure":
            said.append(damage_structure(rng, schema))
            members[SCHEMA] = json.dumps(schema).encode()
        elif how == "bytes":
            name = pick(rng, binary)
            members[name], place = damage_bytes(rng, members[name], documents())
            said.append(place)
        else:
            about = damage_value(rng, json.loads(members[ABOUT]))
            members[ABOUT] = json.dumps(about).encode()
            said.append(f"{ABOUT}: {about}")
    return "; ".join(said)


def is_json(text):
    try:
        json.loads(text)
    except (TypeError, ValueError):
        return False
    return True


def damage_native(rng, data, xgboost_document):
    """Damage a library's own file; says where."""
    if data[:4] == b"tree":
        new = damage_text(rng, data.decode()).encode()
        return new, differing(data.decode(), new.decode())
    return damage_bytes(rng, data, xgboost_document)


def differing(old, new):
    """Where two texts begin to differ, and how."""
    place = next((k for k, (one, other) in enumerate(zip(old, new, strict=False)) if one != other), 0)
    start = max(place - 30, 0)
    return f"{old[start : place + 30]!r} -> {new[start : place + 30]!r}"


def owner_of(schema, wanted):
    """Of what a node or a member of the file is a part, by names."""
    pending = [(schema, "")]
    while pending:
        item, path = pending.pop()
        if item is wanted or (isinstance(item, dict) and item.get("file") == wanted):
            return path
        if isinstance(item, dict):
            pending.extend((inner, path if name == "content" else f"{path}.{name}") for name, inner in item.items())
        elif isinstance(item, list):
            pending.extend((inner, f"{path}[{k}]") for k, inner in enumerate(item))
    return "?"
