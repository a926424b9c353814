"""What routes find in the app: made once by the composition root."""

import asyncio
import time
from dataclasses import dataclass, field
from typing import cast

from starlette.requests import HTTPConnection

from services.gateway.clients import Upstreams
from services.gateway.settings import GatewaySettings
from services.gateway.store import EventStore


@dataclass
class GatewayState:
    """The process's parts, and its live sessions."""

    settings: GatewaySettings
    upstreams: Upstreams
    store: EventStore | None
    draining: asyncio.Event = field(default_factory=asyncio.Event)
    empty: asyncio.Event = field(default_factory=asyncio.Event)
    live: set[str] = field(default_factory=set)
    model: str = ""  # the recogniser's, as last heard from it
    started_s: int = field(default_factory=lambda: int(time.time()))  # since when models are offered here

    def __post_init__(self) -> None:
        self.empty.set()

    def entered(self, session_id: str) -> None:
        """Note a live session."""
        self.live.add(session_id)
        self.empty.clear()

    def left(self, session_id: str) -> None:
        """Note that a live session ended."""
        self.live.discard(session_id)
        if not self.live:
            self.empty.set()


def gateway(connection: HTTPConnection) -> GatewayState:
    """Return the state behind a request or a socket."""
    return cast(GatewayState, connection.app.state.gateway)
