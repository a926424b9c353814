"""Runs the gateway until SIGTERM: live sessions are told, get time to end, and only then the server stops."""

import asyncio
import signal
from collections.abc import Callable
from types import FrameType

import structlog
import uvicorn

from services.common.listening import listening
from services.gateway.app import build_app
from services.gateway.protocols import PatientHttp, PatientWebSocket
from services.gateway.settings import GatewaySettings
from services.gateway.state import GatewayState

log = structlog.get_logger(__name__)


class DrainingServer(uvicorn.Server):
    """A server whose first signal starts a drain; a second one ends it."""

    def __init__(self, config: uvicorn.Config, on_listening: Callable[[int], None], drain_s: float) -> None:
        super().__init__(config)
        self._on_listening = on_listening
        self._drain_s = drain_s
        self._drain: asyncio.Task[None] | None = None

    async def startup(self, sockets: list[object] | None = None) -> None:  # type: ignore[override]
        """Start, then tell the port."""
        await super().startup(sockets)  # type: ignore[arg-type]
        if self.started:
            self._on_listening(self.servers[0].sockets[0].getsockname()[1])

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Drain on the first signal, stop at once on the next."""
        if self._drain is None and sig == signal.SIGTERM:
            self._drain = asyncio.get_running_loop().create_task(self._drain_then_exit(sig, frame))
        else:
            super().handle_exit(sig, frame)

    async def _drain_then_exit(self, sig: int, frame: FrameType | None) -> None:
        state: GatewayState = self.config.app.state.gateway  # type: ignore[union-attr]
        state.draining.set()
        log.info("draining", sessions=len(state.live))
        try:
            async with asyncio.timeout(self._drain_s):
                await state.empty.wait()
        except TimeoutError:
            log.warning("drain_ran_out", sessions=len(state.live))
        super().handle_exit(sig, frame)


async def serve_gateway(settings: GatewaySettings, on_listening: Callable[[int], None]) -> None:
    """Serve until told to stop; ``on_listening`` is told the port once it is open. CannotListen when it cannot be."""
    bound = listening(settings.host, settings.port)
    config = uvicorn.Config(
        build_app(settings),
        log_config=None,
        access_log=False,
        http=PatientHttp,
        ws=PatientWebSocket,
        # Deflate would cost half a megabyte a socket for media that do not compress.
        ws_per_message_deflate=False,
        ws_max_size=2 * max(settings.max_image_bytes, settings.max_audio_frame_bytes),
        ws_ping_interval=settings.ping_interval_s,
        ws_ping_timeout=settings.ping_timeout_s,
        timeout_graceful_shutdown=2,
        server_header=False,
    )
    await DrainingServer(config, on_listening, settings.drain_s).serve([bound])
