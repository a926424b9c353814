"""The OpenAI routes before recognisers that no package brings: of many languages, or failing in the middle."""

from types import SimpleNamespace

import httpx
import httpx2
import openai
import pytest
from fastapi import FastAPI

from services.common.errors import Unavailable
from services.common.types import Committed, Coverage, Ready, Settled, Window, Word
from services.gateway.edge import Edge
from services.gateway.late import LateEvents
from services.gateway.openai.streamed import StreamedTranscript
from services.gateway.openai.transcript import Transcript
from services.gateway.problems import install_problems
from services.gateway.routes import models, transcriptions
from services.gateway.settings import GatewaySettings
from services.gateway.state import GatewayState

HALLO = Committed((Word("Hallo", 0, 400_000, 0.9),), window=Window(0, 0.1, "de"))
EVENTS = [Ready("base"), Settled(0, 1_000_000, 0), HALLO, Coverage(1_000_000, 1_000_000, 0)]


def app_of(*events):
    """Return the routes before a recogniser that says ``events``; an exception among them is raised."""

    async def transcriber(inputs, call):
        async for _ in inputs:
            pass
        for event in events:
            if isinstance(event, Exception):
                raise event
            yield event

    settings = GatewaySettings()
    app = FastAPI()
    app.state.gateway = GatewayState(settings, SimpleNamespace(transcriber=transcriber), None, LateEvents(60.0))
    for routes in (transcriptions, models):
        app.include_router(routes.router)
    install_problems(app)
    app.add_middleware(Edge, settings=settings)
    return app


async def post(app, route, **data):
    """Return the answer to an upload."""
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://here") as client:
        return await client.post(f"/v1/audio/{route}", files={"file": b"sound"}, data={"model": "base", **data})


async def test_a_model_of_many_languages_translates_nothing():
    """It would have to be asked for English, and is not: 400 that names the model, not German for English."""
    answer = await post(app_of(*EVENTS), "translations")
    assert (answer.status_code, answer.json()["error"]["param"]) == (400, "model")
    assert answer.json()["error"]["code"] == "invalid_input"


async def test_the_language_that_was_found_is_named():
    """Nobody asked for one: the model found it out."""
    answer = await post(app_of(*EVENTS), "transcriptions", response_format="verbose_json")
    assert (answer.json()["language"], answer.json()["text"]) == ("german", "Hallo")


async def test_a_stream_that_fails_in_the_middle_says_so():
    """The text so far, then an event that the SDK raises as APIError; the recogniser's call is closed."""
    answer = await post(app_of(*EVENTS[:3], Unavailable("asr does not answer")), "transcriptions", stream="true")
    delta, error = (line.removeprefix("data: ") for line in answer.text.strip().split("\n\n"))
    assert "Hallo" in delta
    assert '"code": "unavailable"' in error
    stream = openai.Stream(
        cast_to=dict,
        response=httpx2_response(answer.content),
        client=openai.OpenAI(api_key="any", base_url="http://here"),
    )
    with pytest.raises(openai.APIError, match="does not answer"):
        list(stream)


def httpx2_response(content):
    """Return a response as the SDK's own HTTP library has it."""
    return httpx2.Response(200, content=content, request=httpx2.Request("POST", "http://here"))


async def test_a_caller_that_is_gone_before_the_first_event_leaves_nothing_open():
    """The recogniser's call is closed though nothing of it was read."""
    closed = []

    async def events():
        try:
            yield HALLO
            yield HALLO
        finally:
            closed.append(True)

    async def gone():
        return {"type": "http.disconnect"}

    async def lost(_message):
        raise OSError("gone")

    started = events()
    await anext(started)
    await StreamedTranscript(Transcript(), started, logprobs=False)({"path": "/"}, gone, lost)
    assert closed == [True]


async def test_models_are_what_the_recogniser_has():
    """Its name and the alias; while it is away nobody can say."""
    transport = httpx.ASGITransport(app_of(Ready("base")))
    async with httpx.AsyncClient(transport=transport, base_url="http://here") as client:
        assert [model["id"] for model in (await client.get("/v1/models")).json()["data"]] == ["base", "whisper-1"]
    transport = httpx.ASGITransport(app_of(Unavailable("asr does not answer")))
    async with httpx.AsyncClient(transport=transport, base_url="http://here") as client:
        answer = await client.get("/v1/models")
    assert (answer.status_code, answer.json()["error"]["type"]) == (503, "server_error")
