"""A small real server that speaks the protocol by script: sockets on 127.0.0.1, no models.

In: what the client sends, kept in ``Heard``. Out: the events of a ``Script``. Used by the client's tests.
"""

import asyncio
import json
import struct
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

HEADER = struct.Struct(">B3sIQ")
WORD_US = 400_000


@dataclass
class Heard:
    """What came in."""

    headers: dict[str, str] = field(default_factory=dict)
    messages: list[dict[str, Any]] = field(default_factory=list)
    media: list[tuple[int, bytes, int, int, bytes]] = field(default_factory=list)
    form: dict[str, list[Any]] = field(default_factory=dict)

    def payloads(self, kind: int) -> list[bytes]:
        return [payload for got, _, _, _, payload in self.media if got == kind]

    def stamps(self, kind: int) -> list[tuple[int, int]]:
        return [(seq, pts_us) for got, _, seq, pts_us, _ in self.media if got == kind]


@dataclass
class Script:
    """How the server behaves: what it says, when it closes, what REST answers."""

    text: str = "here you can see a cat. and this is a cup of coffee."
    instead_of_ready: dict[str, Any] | None = None
    close_after_audio: tuple[int, str] | None = None
    before_close: tuple[dict[str, Any], ...] = ()
    extra: tuple[dict[str, Any], ...] = ()
    refuse_upgrade: Response | None = None
    answers: dict[str, Callable[[], Response]] = field(default_factory=dict)


class _Talker:
    """One session: commits a word per 400 ms of audio, aligns sentences with the newest image."""

    def __init__(self, socket: WebSocket, script: Script, heard: Heard) -> None:
        self.socket, self.script, self.heard = socket, script, heard
        self.event_no = 0
        self.heard_us = 0
        self.audio_seq = 0
        self.frames: list[str] = []
        self.said = script.text.split()
        self.words: list[dict[str, Any]] = []
        self.aligned = 0

    async def number(self, **event: Any) -> None:
        self.event_no += 1
        await self.say(**event, event_no=self.event_no)

    async def say(self, **event: Any) -> None:
        await self.socket.send_text(json.dumps(event))

    async def run(self) -> None:
        start = json.loads(await self.socket.receive_text())
        self.heard.messages.append(start)
        if self.script.instead_of_ready:
            await self.say(**self.script.instead_of_ready)
            await self.socket.close(4400, "refused")
            return
        await self.number(type="session.ready", session_id="s1", token="t", models={"asr": "script"}, new_field=1)
        for event in self.script.extra:
            await self.say(**event)
        while await self.step(await self.socket.receive()):
            pass

    async def step(self, message: Any) -> bool:
        if message["type"] == "websocket.disconnect":
            return False
        if message.get("bytes") is not None:
            return await self.media(message["bytes"])
        request = json.loads(message["text"])
        self.heard.messages.append(request)
        if request["type"] == "flush":
            await self.number(type="marker", marker=request["marker"])
        if request["type"] == "session.end":
            await self.end()
            return False
        return True

    async def media(self, data: bytes) -> bool:
        kind, zeros, seq, pts_us = HEADER.unpack(data[: HEADER.size])
        payload = data[HEADER.size :]
        self.heard.media.append((kind, zeros, seq, pts_us, payload))
        if kind == 2:
            await self.image(seq, pts_us)
            return True
        self.audio_seq, self.heard_us = seq, pts_us + len(payload) * 1_000_000 // 32_000
        if self.script.close_after_audio:
            for event in self.script.before_close:
                await self.say(**event)
            await self.socket.close(*self.script.close_after_audio)
            return False
        await self.commit()
        return True

    async def image(self, seq: int, pts_us: int) -> None:
        frame_id = f"f{seq}"
        self.frames.append(frame_id)
        labels = [{"text": "tabby", "score": 0.8}]
        regions = [{"box": [0, 0, 0.5, 1], "labels": labels}]
        await self.number(
            type="frame", id=frame_id, pts_us=pts_us, status="seen", labels=labels, regions=regions, input={}
        )

    async def commit(self) -> None:
        if self.said and self.heard_us >= (len(self.words) + 1) * WORD_US:
            start_us = len(self.words) * WORD_US
            text = self.said.pop(0)
            word = {
                "id": len(self.words) + 1,
                "text": text,
                "start_us": start_us,
                "end_us": start_us + WORD_US,
                "confidence": 0.9,
            }
            self.words.append(word)
            await self.say(type="transcript.partial", text=text, words=[word])
            await self.number(type="transcript.committed", words=[word])
            await self.say(type="ack", audio_seq=self.audio_seq, image_seq=len(self.frames))
            await self.say(type="flow", lag_us=250_000, window_us=6_000_000)
            if text.endswith("."):
                await self.align()

    async def align(self) -> None:
        words, self.aligned = self.words[self.aligned :], len(self.words)
        if not words:
            return
        found = bool(self.frames)
        alignment = {
            "type": "alignment",
            "word_ids": [word["id"] for word in words],
            "text": " ".join(word["text"] for word in words),
            "frame_id": self.frames[-1] if found else None,
            "relation": "during" if found else "none",
            "age_us": 0,
            "regions": [{"box": [0.5, 0, 1, 0.5], "score": 0.7}] if found else [],
            "score": {"temporal": 1.0, "semantic": 0.6, "combined": 0.91 if found else 0.0},
        }
        await self.number(**alignment, revision=0, final=False)
        await self.number(**alignment, revision=1, final=True)

    async def end(self) -> None:
        await self.align()
        coverage = {"transcribed_us": self.heard_us, "silent_us": 0, "dropped": []}
        await self.number(type="session.ended", coverage=coverage, usage={"audio_us": self.heard_us})
        await self.socket.close(1000)


def application(script: Script, heard: Heard) -> Starlette:
    async def stream(socket: WebSocket) -> None:
        heard.headers.update(socket.headers)
        if script.refuse_upgrade:
            await socket.send_denial_response(script.refuse_upgrade)
            return
        await socket.accept()
        try:
            await _Talker(socket, script, heard).run()
        except WebSocketDisconnect:
            return

    async def rest(request: Request) -> Response:
        heard.headers.update(request.headers)
        if request.method == "POST":
            async with request.form() as form:
                heard.form = {
                    key: [await v.read() if hasattr(v, "read") else v for v in form.getlist(key)] for key in form
                }
        answer = script.answers.get(request.url.path)
        return answer() if answer else JSONResponse({"detail": "no such route", "code": "not_found"}, 404)

    routes = [WebSocketRoute("/v1/stream", stream), Route("/{path:path}", rest, methods=["GET", "POST"])]
    return Starlette(routes=routes)


@asynccontextmanager
async def serving(script: Script, heard: Heard) -> AsyncGenerator[str, None]:
    """Yield the server's address once it listens."""
    config = uvicorn.Config(
        application(script, heard), port=0, log_level="critical", lifespan="off", ws="websockets-sansio"
    )
    server = _Server(config)
    async with asyncio.TaskGroup() as tasks:
        running = tasks.create_task(server.serve())
        await server.listening.wait()
        port = server.servers[0].sockets[0].getsockname()[1]
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            server.should_exit = True
            server.force_exit = True
            await running


class _Server(uvicorn.Server):
    """Says when it listens, and leaves the signals to the tests."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listening = asyncio.Event()

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        self.listening.set()

    async def serve(self, sockets: Any = None) -> None:
        await self._serve(sockets)
