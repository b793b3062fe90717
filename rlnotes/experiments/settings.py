"""Settings: frozen dataclasses that hold a learner's own `Config`, changed by name.

A name is dotted, `"agent.generator.gamma"`, and is checked together with the type of
its value, so that a misspelt or senseless override fails where it is written.
"""

import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass, replace
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from rlnotes.errors import UserError, unknown

Override = Mapping[str, Any]
S = TypeVar("S")


def changed(settings: S, override: Override) -> S:
    """`settings` with each named field replaced, in the order given."""
    for name, value in override.items():
        settings = _changed_one(settings, name, name.split("."), value)
    return settings


def _changed_one(settings: Any, name: str, path: list[str], value: Any) -> Any:
    hints = get_type_hints(type(settings)) if is_dataclass(settings) else {}
    if path[0] not in hints:
        raise unknown("setting", name, names(settings) or ["none below this name"])
    if len(path) > 1:
        value = _changed_one(getattr(settings, path[0]), name, path[1:], value)
    elif not fits(value, hints[path[0]]):
        expected = _described(hints[path[0]])
        raise UserError(f"the setting {name} is {expected}, which {value!r} is not")
    return replace(settings, **{path[0]: value})


def fits(value: Any, hint: Any) -> bool:  # noqa: PLR0911 (one line per kind)
    """Whether `value` may stand where `hint` is declared. A whole number is a float."""
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if origin in (Union, types.UnionType):
        return any(fits(value, one) for one in arguments)
    if origin is Literal:
        return value in arguments
    if origin is Callable:
        return callable(value)
    if origin is tuple:
        return isinstance(value, tuple) and _tuple_fits(value, arguments)
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, origin or hint)


def _tuple_fits(value: tuple[Any, ...], arguments: tuple[Any, ...]) -> bool:
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        return all(fits(one, arguments[0]) for one in value)
    return len(value) == len(arguments) and all(map(fits, value, arguments))


def _described(hint: Any) -> str:
    if get_origin(hint) is Literal:
        return "one of " + ", ".join(map(repr, get_args(hint)))
    return "a function" if get_origin(hint) is Callable else _type_name(hint)


def _type_name(hint: Any) -> str:
    return f"of type {getattr(hint, '__name__', hint)}"


def names(settings: Any, prefix: str = "") -> list[str]:
    """The dotted names of all that can be changed, from the outside in."""
    if not is_dataclass(settings):
        return []
    found = []
    for field in fields(settings):
        inner = names(getattr(settings, field.name), f"{prefix}{field.name}.")
        found += inner or [f"{prefix}{field.name}"]
    return found


def full_names(settings: Any, given: Override) -> dict[str, Any]:
    """Overrides with short names, `gradient_penalty`, under their dotted ones.

    A short name must belong to one setting only; a double underscore stands for a dot.
    """
    known = names(settings)
    found = {}
    for short, value in given.items():
        name = short.replace("__", ".")
        matches = [one for one in known if one == name or one.endswith(f".{name}")]
        whole = [one for one in matches if one == name]
        if not matches:
            raise unknown("setting", short, known)
        if len(whole or matches) > 1:
            raise UserError(
                f"the setting '{short}' could be {' or '.join(matches)}: write the one"
                " that is meant, with __ for each dot"
            )
        found[(whole or matches)[0]] = value
    return found


def as_json(value: Any) -> Any:
    """What a record keeps: functions by name, a learner's Config with the learner's."""
    if is_dataclass(value) and not isinstance(value, type):
        kept = {
            field.name: as_json(getattr(value, field.name)) for field in fields(value)
        }
        learner = type(value).__module__.rpartition(".")[2]
        return {"learner": learner} | kept if type(value).__name__ == "Config" else kept
    if callable(value):
        return f"{value.__module__.removeprefix('rlnotes.')}.{value.__qualname__}"
    if isinstance(value, tuple | list):
        return [as_json(one) for one in value]
    return value


def differences(recorded: Any, today: Any, prefix: str = "") -> list[str]:
    """The names in which a record's settings are not those of `today`.

    A field that is newer than the record counts with its default: the record was made
    when there was nothing else.
    """
    if not (is_dataclass(today) and isinstance(recorded, dict)):
        return [] if recorded == as_json(today) else [prefix.rstrip(".")]
    now = as_json(today)
    found = [f"{prefix}{name}" for name in recorded if name not in now]
    if "learner" in now and recorded.get("learner") != now["learner"]:
        found.append(f"{prefix}learner")
    for field in fields(today):
        value = getattr(today, field.name)
        if field.name in recorded:
            inner = differences(recorded[field.name], value, f"{prefix}{field.name}.")
            found += inner
        elif as_json(_default(field)) != as_json(value):
            found.append(f"{prefix}{field.name}")
    return found


def _default(field: "Field[Any]") -> Any:
    if field.default_factory is not MISSING:
        return field.default_factory()
    return None if field.default is MISSING else field.default
