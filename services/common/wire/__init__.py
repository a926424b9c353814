"""Between types and protobuf: one codec per port, functions named ``x_to_pb`` and ``x_from_pb``."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

from google.protobuf.message import Message

from services.common.errors import InvalidInput

In = TypeVar("In")
Out = TypeVar("Out")
Member = TypeVar("Member", bound=StrEnum)


@dataclass(frozen=True, slots=True)
class Codec(Generic[In, Out]):
    """How one port's inputs and outputs cross the wire. The ``*_from_pb`` raise InvalidInput."""

    input_to_pb: Callable[[In], Message]
    input_from_pb: Callable[[Message], In]
    output_to_pb: Callable[[Out], Message]
    output_from_pb: Callable[[Message], Out]


def member_from_pb(enum: type[Member], value: str, param: str) -> Member:
    """Return the member with this value; InvalidInput naming the choices where there is none."""
    try:
        return enum(value)
    except ValueError:
        raise InvalidInput(f"{param} {value!r} is none of {', '.join(enum)}", param=param) from None
