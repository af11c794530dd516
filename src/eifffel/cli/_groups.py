"""Groups of options: a dataclass declares options once, and a command takes it as one parameter."""

import functools
import inspect
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import MISSING, dataclass, fields
from typing import Annotated, Any, TypeVar, dataclass_transform, get_args, get_type_hints

from typer.models import OptionInfo

DeclaredGroup = TypeVar("DeclaredGroup", bound="OptionGroup")


@dataclass(frozen=True, kw_only=True)
class OptionGroup:
    """Options that belong together, in a class that `declares_options`."""


@dataclass_transform(kw_only_default=True, frozen_default=True)
def declares_options(panel: str | None = None) -> Callable[[type[DeclaredGroup]], type[DeclaredGroup]]:
    """Make a class a frozen dataclass, each field of which is an option, with its type and help as ``Annotated``.

    Help shows them under the heading ``panel``, or among those that have none; those that a class inherits stay under
    the heading of their own class.
    """

    def decorate(group: type[DeclaredGroup]) -> type[DeclaredGroup]:
        own = inspect.get_annotations(group)
        group.__annotations__ = {name: _show_under(hint, panel) for name, hint in own.items()}
        return dataclass(frozen=True, kw_only=True)(group)

    return decorate


def flatten_groups(run: Callable[..., None]) -> Callable[..., None]:
    """The same function with the options of its groups as parameters, by their names, as typer reads them."""
    hints = get_type_hints(run, include_extras=True)
    hints.pop("return", None)
    defaults = {name: given.default for name, given in inspect.signature(run).parameters.items()}
    groups = {name: hint for name, hint in hints.items() if isinstance(hint, type) and issubclass(hint, OptionGroup)}
    parameters: list[inspect.Parameter] = []
    for name, hint in hints.items():
        parameters += _list_options(groups[name]) if name in groups else [_make_option(name, hint, defaults[name])]

    @functools.wraps(run)
    def flat(**options: Any) -> None:
        given = {
            name: group(**{field.name: options.pop(field.name) for field in fields(group)})
            for name, group in groups.items()
        }
        run(**given, **options)

    flat.__dict__["__signature__"] = inspect.Signature(parameters)
    flat.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return flat


def _list_options(group: type[OptionGroup]) -> Iterator[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    for field in fields(group):
        default = inspect.Parameter.empty if field.default is MISSING else field.default
        yield _make_option(field.name, hints[field.name], default)


def _show_under(hint: Any, panel: str | None) -> Any:
    """An option whose help stands under a heading; arguments have one of their own."""
    kind, info = get_args(hint)
    if not isinstance(info, OptionInfo):
        return hint
    info = copy(info)
    info.rich_help_panel = panel
    return Annotated[kind, info]


def _make_option(name: str, hint: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)
