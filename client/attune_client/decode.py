"""JSON in, frozen dataclasses out: fields nobody knows are left aside, missing ones take their default.

Used for the events of a session and for the answers of the REST calls.
"""

import dataclasses
import types
from collections.abc import Mapping
from functools import cache
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")

_hints = cache(get_type_hints)


def from_json(kind: type[T], raw: object) -> T:
    """Return ``raw`` as a ``kind``; ValueError names the field that does not fit."""
    return _value(kind, raw, kind.__name__)  # type: ignore[no-any-return]


def _value(kind: Any, raw: Any, where: str) -> Any:
    if dataclasses.is_dataclass(kind):
        return _record(kind, raw, where)
    origin = get_origin(kind)
    if origin is tuple:
        return _sequence(get_args(kind), raw, where)
    if origin in (Union, types.UnionType):
        return None if raw is None else _value(get_args(kind)[0], raw, where)
    return _scalar(origin or kind, raw, where)


def _record(kind: Any, raw: Any, where: str) -> Any:
    if not isinstance(raw, Mapping):
        raise ValueError(f"{where} is not an object")  # noqa: TRY004 - the caller sent wrong data, not a wrong type
    hints = _hints(kind)
    values = {}
    for field in dataclasses.fields(kind):
        if field.name in raw:
            values[field.name] = _value(hints[field.name], raw[field.name], f"{where}.{field.name}")
        elif field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            raise ValueError(f"{where}.{field.name} is missing")
    return kind(**values)


def _sequence(kinds: tuple[Any, ...], raw: Any, where: str) -> tuple[Any, ...]:
    if not isinstance(raw, list):
        raise ValueError(f"{where} is not a list")  # noqa: TRY004 - as above
    if kinds[-1] is ...:
        kinds = (kinds[0],) * len(raw)
    if len(raw) != len(kinds):
        raise ValueError(f"{where} has {len(raw)} values, not {len(kinds)}")
    return tuple(_value(kind, item, f"{where}[{at}]") for at, (kind, item) in enumerate(zip(kinds, raw, strict=True)))


def _scalar(kind: Any, raw: Any, where: str) -> Any:
    if kind is Any:
        return raw
    number = isinstance(raw, int | float) and not isinstance(raw, bool)
    if kind is float and number:
        return float(raw)
    if not isinstance(raw, kind) or (kind is int and not number):
        raise ValueError(f"{where} is not {kind.__name__}")
    return raw
