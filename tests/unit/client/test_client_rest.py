"""The REST calls against a real server."""

from pathlib import Path

import pytest
from starlette.responses import JSONResponse, PlainTextResponse

from attune_client import Attune, AttuneError, ImageError, Label, Model, Warned
from tests.unit.client.server import Heard, Script

ALIGNMENT = {
    "word_ids": [1], "text": "cat", "frame_id": "f1", "relation": "during", "age_us": 0,
    "regions": [{"box": [0, 0, 1, 1], "score": 0.5}], "score": {"temporal": 1, "semantic": 1, "combined": 1},
    "revision": 0, "final": True,
}  # fmt: skip
ANSWER = {
    "id": "a1", "duration_us": 9, "words": [{"id": 1, "text": "cat", "start_us": 0, "end_us": 5, "confidence": 0.9}],
    "frames": [{"id": "f1", "pts_us": 0, "status": "seen", "labels": [], "regions": [], "input": {}}],
    "alignments": [ALIGNMENT], "coverage": {"transcribed_us": 9, "silent_us": 0, "dropped": []},
    "degraded": ["vision"], "models": {"asr": "m"}, "timing": {"total_us": 1},
    "warnings": [{"code": "clipped", "message": "too loud"}],
}  # fmt: skip


async def test_files_go_up_and_the_typed_answer_comes_back(
    url: str, script: Script, heard: Heard, tmp_path: Path
) -> None:
    """Paths and bytes both do; images keep their order and times; the key is a header."""
    script.answers["/v1/alignments"] = lambda: JSONResponse(ANSWER)
    talk = tmp_path / "talk.wav"
    talk.write_bytes(b"sound")
    async with Attune(url, api_key="k") as client:
        result = await client.align(audio=talk, images=[(b"one", 0), (b"two", 5)], language="en", idempotency_key="i")
    assert heard.form == {
        "audio": [b"sound"], "images": [b"one", b"two"], "images_pts_us": ["0", "5"], "language": ["en"]
    }  # fmt: skip
    assert (heard.headers["idempotency-key"], heard.headers["authorization"]) == ("i", "Bearer k")
    assert result.words[0].text == "cat"
    assert result.alignments[0].regions[0].box == (0.0, 0.0, 1.0, 1.0)
    assert result.degraded == ("vision",)
    assert result.warnings == (Warned("clipped", "too loud"),)
    assert result.timing == {"total_us": 1}


async def test_each_image_has_its_own_answer(url: str, script: Script, heard: Heard) -> None:
    """A bad image among good ones has its error; the good ones are described."""
    seen = {"labels": [{"text": "tabby", "score": 0.5}], "regions": [], "input": {}}
    bad = {"error": {"code": "unsupported_media", "message": "not an image"}}
    script.answers["/v1/images"] = lambda: JSONResponse({"images": [seen, bad]})
    async with Attune(url) as client:
        good, failed = await client.describe_images([b"cat", b"?"])
    assert good.labels == (Label("tabby", 0.5),)
    assert failed.error == ImageError("unsupported_media", "not an image")
    assert heard.form == {"image": [b"cat", b"?"]}


async def test_a_problem_document_is_an_attune_error(url: str, script: Script) -> None:
    """Code, text, parameter, retry and waiting time are the server's."""
    problem = {"title": "busy", "detail": "no room", "code": "overloaded", "param": "audio", "retryable": True}
    script.answers["/v1/models"] = lambda: JSONResponse(
        problem, 429, {"Retry-After": "3"}, media_type="application/problem+json"
    )
    async with Attune(url) as client:
        with pytest.raises(AttuneError, match="no room") as caught:
            await client.models()
    error = caught.value
    assert (error.code, error.param, error.retryable, error.retry_after_s) == ("overloaded", "audio", True, 3.0)


async def test_an_answer_without_a_problem_still_has_a_code(url: str, script: Script) -> None:
    """A proxy's bare 502 is 'unavailable'."""
    script.answers["/v1/models"] = lambda: PlainTextResponse("bad gateway", 502)
    async with Attune(url) as client:
        with pytest.raises(AttuneError, match="502") as caught:
            await client.models()
    assert caught.value.code == "unavailable"


async def test_models_are_listed(url: str, script: Script) -> None:
    """The list is the OpenAI shape's data."""
    script.answers["/v1/models"] = lambda: JSONResponse(
        {"object": "list", "data": [{"id": "tiny.en", "object": "model", "owned_by": "attune"}]}
    )
    async with Attune(url) as client:
        assert await client.models() == [Model("tiny.en", "attune")]


@pytest.mark.parametrize(("status", "ready"), [(200, True), (503, False)])
async def test_ready_is_what_the_server_says(url: str, script: Script, status: int, ready: bool) -> None:
    """503 means not yet; it is no error."""
    script.answers["/readyz"] = lambda: JSONResponse({"status": "?"}, status)
    async with Attune(url) as client:
        assert await client.ready() is ready


async def test_metrics_are_text(url: str, script: Script) -> None:
    """As Prometheus reads them."""
    script.answers["/metrics"] = lambda: PlainTextResponse("a 1.0\n")
    async with Attune(url) as client:
        assert await client.metrics() == "a 1.0\n"


@pytest.mark.parametrize("address", ["garbage", "http://[::1", "http://127.0.0.1:99999"])
def test_what_is_no_address_is_told_at_once(address: str) -> None:
    """The error names it and its parameter."""
    with pytest.raises(AttuneError, match="is not an address") as caught:
        Attune(address)
    assert (caught.value.code, caught.value.param) == ("invalid_input", "url")


async def test_a_server_that_is_not_there_is_not_ready() -> None:
    """Nobody answers: False for ready, an error for work."""
    async with Attune("http://127.0.0.1:9") as client:
        assert await client.ready() is False
        with pytest.raises(AttuneError, match="cannot reach") as caught:
            await client.describe_images([b""])
    assert caught.value.retryable


async def test_a_missing_file_is_told_before_anything_is_sent(url: str, heard: Heard) -> None:
    """The error names the file."""
    async with Attune(url) as client:
        with pytest.raises(AttuneError, match=r"cannot read no\.wav"):
            await client.align(audio="no.wav")
    assert not heard.headers


async def test_an_answer_that_cannot_be_read_is_a_bad_answer(url: str, script: Script) -> None:
    """The client never hands out half an answer."""
    script.answers["/v1/alignments"] = lambda: JSONResponse({"id": "a"})
    async with Attune(url) as client:
        with pytest.raises(AttuneError, match="missing") as caught:
            await client.align(audio=b"")
    assert caught.value.code == "bad_answer"
