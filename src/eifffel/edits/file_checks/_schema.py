"""What a library builds as soon as a file is read, before anything could be checked, is built by eifffel instead.

skops makes objects of nodes, dicts in the file's ``schema.json``. A node can stand for another by its number, so that
what a node will become is known only once it is made: a check of the schema by itself could be misled. So the nodes of
such types are rewritten into calls of a function that gets the parts and checks them, and the library then builds what
the parts describe.
"""

import io
import json
import zipfile
from collections.abc import Collection, Iterator
from importlib import import_module
from typing import Any, NamedTuple

from eifffel.edits.file_checks._catboost import check_catboost_bytes
from eifffel.edits.file_checks._damage import DamageError, refuse_unless
from eifffel.edits.file_checks._lightgbm import check_lightgbm_text
from eifffel.edits.file_checks._trees import make_tree
from eifffel.edits.file_checks._xgboost import check_xgboost_bytes

SCHEMA = "schema.json"
# Estimators of scikit-learn whose compiled code looks things up by what a file says, and that nothing here checks.
UNCHECKED = ("sklearn.cluster.", "sklearn.neighbors.", "sklearn.semi_supervised.", "sklearn.svm.")


class Maker(NamedTuple):
    """How skops writes a type, and the function here that makes one of what it wrote."""

    loader: str
    make: str


def check_lightgbm_state(state: Any) -> None:
    """What a Booster of LightGBM is stored as."""
    check_lightgbm_text(_stored(state, "_handle", "handle"))


def check_xgboost_state(state: Any) -> None:
    """What a Booster of XGBoost is stored as."""
    check_xgboost_bytes(_stored(state, "handle"))


def check_catboost_state(state: Any) -> None:
    """What a CatBoostClassifier is stored as, trained or not."""
    refuse_unless(isinstance(state, dict), "a model of CatBoost that is none")
    if "__model" in state:
        check_catboost_bytes(state["__model"])


STATES = {
    "catboost.core.CatBoostClassifier": check_catboost_state,
    "lightgbm.basic.Booster": check_lightgbm_state,
    "xgboost.core.Booster": check_xgboost_state,
}


def make_lightgbm_booster(parts: list[Any]) -> Any:
    """A Booster of LightGBM."""
    return _with_state("lightgbm.basic.Booster", *parts)


def make_xgboost_booster(parts: list[Any]) -> Any:
    """A Booster of XGBoost."""
    return _with_state("xgboost.core.Booster", *parts)


def make_catboost_classifier(parts: list[Any]) -> Any:
    """A CatBoostClassifier."""
    return _with_state("catboost.core.CatBoostClassifier", *parts)


def _stored(state: Any, *names: str) -> Any:
    """What a booster was written as; without it a library would use an address that is none."""
    refuse_unless(isinstance(state, dict), "a booster that is none")
    found = [name for name in names if name in state]
    refuse_unless(len(found) == 1, "a booster that holds no model")
    return state[found[0]]


def _with_state(name: str, state: Any) -> Any:
    STATES[name](state)
    module, _, kind = name.rpartition(".")
    made = getattr(import_module(module), kind)
    made = made.__new__(made)
    made.__setstate__(state)
    return made


MAKERS = {
    "catboost.core.CatBoostClassifier": Maker("ObjectNode", make_catboost_classifier.__name__),
    "lightgbm.basic.Booster": Maker("ObjectNode", make_lightgbm_booster.__name__),
    "sklearn.tree._tree.Tree": Maker("TreeNode", make_tree.__name__),
    "xgboost.core.Booster": Maker("ObjectNode", make_xgboost_booster.__name__),
}
# Others of the types that are trusted, where skops does not write them as objects with a state.
NODE_LOADERS = {
    "collections.OrderedDict": ("DictNode", "TypeNode"),
    "eifffel.rows.labels.LabelSets": ("TupleNode",),
    "numpy.dtype": ("DTypeNode",),
}
# What the functions are called where skops looks for them.
TRUSTED_MAKERS = tuple(f"{__name__}.{maker.make}" for maker in MAKERS.values())


def guard_schema(data: bytes, trusted: Collection[str], *, unseen: Collection[str] = ()) -> bytes:
    """The same skops file with calls of our functions in the place of what libraries would build unseen.

    ``trusted`` are the types that eifffel trusts: each may be written only as skops writes it. Boosters of the types in
    ``unseen`` are left to their libraries.
    """
    trusted = {*trusted} - ({*unseen} & {*STATES})
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    schema = json.loads(members[SCHEMA])
    for node in _nodes(schema):
        name = f"{node['__module__']}.{node['__class__']}"
        if name in TRUSTED_MAKERS:
            raise DamageError("calls of functions of eifffel's own")
        if name in trusted and node.get("__loader__") != "JsonNode":
            maker = MAKERS.get(name)
            loaders = NODE_LOADERS.get(name, ("ObjectNode",)) if maker is None else (maker.loader,)
            if node.get("__loader__") not in loaders:
                raise DamageError(f"a {name} that is written as no such thing is")
            if maker is not None:
                _call(node, maker)
    members[SCHEMA] = json.dumps(schema).encode()
    guarded = io.BytesIO()
    with zipfile.ZipFile(guarded, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return guarded.getvalue()


def _call(node: dict[str, Any], maker: Maker) -> None:
    """Make a node one that skops reads by giving a list of parts to a function."""
    parts = [node["content"]] if maker.loader == "ObjectNode" else [node["__reduce__"]["args"], node["content"]]
    for name in ("content", "__reduce__"):
        node.pop(name, None)
    node.update(__module__=__name__, __class__=maker.make, __loader__="ListNode", content=parts)


def find_unchecked(data: bytes) -> list[str]:
    """The types in a skops file that skops trusts, and whose compiled code nothing here checks."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        schema = json.loads(archive.read(SCHEMA))
    names = {f"{node['__module__']}.{node['__class__']}" for node in _nodes(schema)}
    return sorted(name for name in names if name.startswith(UNCHECKED))


def _nodes(schema: Any) -> Iterator[dict[str, Any]]:
    """Every dict in a schema that names a type, whatever it is part of."""
    pending = [schema]
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            pending.extend(item.values())
            if "__module__" in item and "__class__" in item:
                yield item
        elif isinstance(item, list):
            pending.extend(item)
