"""What is handed in as a file says so to every service."""

from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

import httpx
from fastapi import FastAPI

from services.common.ports import Call, Priority
from services.common.types import Coverage, Ready
from services.gateway.clients import Upstreams
from services.gateway.late import LateEvents
from services.gateway.routes import alignments, transcriptions
from services.gateway.settings import GatewaySettings
from services.gateway.state import GatewayState


class Noting:
    """A port that notes its calls, takes all inputs, and answers as told."""

    def __init__(self, *answers: Any) -> None:
        self.calls: list[Call] = []
        self._answers = answers

    async def __call__(self, inputs: AsyncIterator[Any], call: Call) -> AsyncGenerator[Any, None]:
        self.calls.append(call)
        async for _ in inputs:
            pass
        for answer in self._answers:
            yield answer


def app_with(ports: list[Noting]) -> Any:
    """Return the file routes before these upstreams, as an ASGI app."""
    app = FastAPI()
    app.include_router(alignments.router)
    app.include_router(transcriptions.router)
    asr, vision, aligner = ports
    upstreams = Upstreams(asr, vision, vision, aligner, channels={})
    app.state.gateway = GatewayState(GatewaySettings(), upstreams, None, LateEvents(60.0))

    async def with_id(scope: Any, receive: Any, send: Any) -> None:
        await app({**scope, "state": {"request_id": "r"}}, receive, send)

    return with_id


async def test_the_file_routes_call_every_service_as_files():
    """Speech, images and alignment of ``POST /v1/alignments``, and images of ``POST /v1/images``."""
    asr, vision, aligner = ports = [Noting(Coverage(0, 0, 0)), Noting(), Noting()]
    transport = httpx.ASGITransport(app_with(ports))
    async with httpx.AsyncClient(transport=transport, base_url="http://gateway") as http:
        files = [("audio", b"sound"), ("images", b"picture")]
        assert (await http.post("/v1/alignments", files=files, data={"images_pts_us": ["0"]})).status_code == 200
        assert (await http.post("/v1/images", files={"image": b"picture"})).status_code == 200
    calls = [*asr.calls, *vision.calls, *aligner.calls]
    assert [len(port.calls) for port in ports] == [1, 2, 1]
    assert {call.priority for call in calls} == {Priority.FILE}


async def test_openais_file_route_calls_the_recogniser_as_a_file():
    """``POST /v1/audio/transcriptions`` too is nobody who listens."""
    ports = [Noting(Ready("tiny.en", "en", 0), Coverage(1000, 0, 1000)), Noting(), Noting()]
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app_with(ports)), base_url="http://gateway") as http:
        answer = await http.post("/v1/audio/transcriptions", files={"file": b"sound"}, data={"model": "whisper-1"})
    assert answer.status_code == 200
    assert [call.priority for call in ports[0].calls] == [Priority.FILE]
