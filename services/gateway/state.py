"""What routes find in the app: made once by the composition root."""

import asyncio
import time
from collections import deque
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import cast

from starlette.requests import HTTPConnection

from services.common.errors import Overloaded
from services.gateway.clients import Upstreams
from services.gateway.late import LateEvents
from services.gateway.settings import GatewaySettings
from services.gateway.store import EventStore

RETRY_DRAINING_S = 5.0
RETRY_UNKNOWN_S = 60.0  # the length of a session, before one has ended


@dataclass
class GatewayState:
    """The process's parts, and its live sessions."""

    settings: GatewaySettings
    upstreams: Upstreams
    store: EventStore | None
    late: LateEvents
    draining: asyncio.Event = field(default_factory=asyncio.Event)
    empty: asyncio.Event = field(default_factory=asyncio.Event)
    model: str = ""  # the recogniser's, as last heard from it
    started_s: int = field(default_factory=lambda: int(time.time()))  # since when models are offered here
    live: dict[str, float] = field(default_factory=dict)  # since when, on the loop's clock
    opening: int = 0  # sockets whose session has not started
    lengths_s: deque[float] = field(default_factory=lambda: deque(maxlen=32))

    def __post_init__(self) -> None:
        self.empty.set()

    def entered(self, session_id: str) -> None:
        """Note a live session."""
        self.live[session_id] = asyncio.get_running_loop().time()
        self.empty.clear()

    def left(self, session_id: str) -> None:
        """Note that a live session ended."""
        self.lengths_s.append(asyncio.get_running_loop().time() - self.live.pop(session_id))
        if not self.live:
            self.empty.set()

    @contextmanager
    def opened(self) -> Generator[None]:
        """Hold a place while a session starts; Overloaded where there is no room, before or after."""
        self.opening += 1
        try:
            self.check_room()
            yield
            self.check_room()  # others may have started meanwhile
        finally:
            self.opening -= 1

    def check_room(self) -> None:
        """Raise Overloaded when another session would be one too many, or when the server is about to stop."""
        most = self.settings.max_sessions
        if self.draining.is_set():
            raise Overloaded("the server is stopping", retry_after_s=RETRY_DRAINING_S)
        if len(self.live) >= most or self.opening > most:
            raise Overloaded(f"{len(self.live)} sessions are running", retry_after_s=self._retry_after_s())

    def _retry_after_s(self) -> float:
        """Return when one of the sessions will have ended, by how long the last ones took."""
        mean_s = sum(self.lengths_s) / len(self.lengths_s) if self.lengths_s else RETRY_UNKNOWN_S
        return max(1.0, mean_s / max(1, len(self.live)))


def gateway(connection: HTTPConnection) -> GatewayState:
    """Return the state behind a request or a socket."""
    return cast(GatewayState, connection.app.state.gateway)
