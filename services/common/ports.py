"""The one shape everything has: an async call that takes a stream and returns a stream.

An engine implements a port, a servicer puts it on gRPC, a client is the port again; a guard turns a port into a port.
The first input is always the port's configuration; the output ends when the work asked for is done.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeAlias, TypeVar

from services.common.deadlines import Deadline
from services.common.types import AlignEvent, AlignInput, SpeechEvent, SpeechInput, VisionEvent, VisionInput


class Priority(StrEnum):
    """Who waits for the answer: somebody who listens live, or a file that was handed in."""

    LIVE = "live"
    FILE = "file"


@dataclass(frozen=True, slots=True)
class Call:
    """What travels beside the stream: who asks, until when an answer is worth having, and whether somebody listens."""

    session_id: str = ""
    request_id: str = ""
    deadline: Deadline | None = None
    priority: Priority = Priority.LIVE

    def within(self, seconds: float) -> "Call":
        """Return the same call with a deadline at most ``seconds`` away."""
        return replace(self, deadline=Deadline.sooner(self.deadline, Deadline.after(seconds)))


In = TypeVar("In")
Out = TypeVar("Out")

Port: TypeAlias = Callable[[AsyncIterator[In], Call], AsyncGenerator[Out, None]]

Transcriber: TypeAlias = Port[SpeechInput, SpeechEvent]
ImageEncoder: TypeAlias = Port[VisionInput, VisionEvent]
Aligner: TypeAlias = Port[AlignInput, AlignEvent]
