"""The REST routes from outside."""

import asyncio
import io
import socket
import time
import wave

import httpx
import pytest

from tests.integration.test_stream import picture, sound
from tests.running import Running

TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def wav(seconds: float) -> bytes:
    """Return a WAV file of a tone."""
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(16_000)
        file.writeframes(sound(seconds))
    return out.getvalue()


@pytest.fixture
async def http(fakes: Running):
    """Yield an HTTP client for the server."""
    async with httpx.AsyncClient(base_url=fakes.url, timeout=10) as client:
        yield client


async def test_alignments(http: httpx.AsyncClient):
    """A file and images bring words, frames, alignments, coverage and timings, with ids and trace on the answer."""
    answer = await http.post(
        "/v1/alignments",
        files=[("audio", wav(2.0)), ("images", picture("red")), ("images", b"no image")],
        data={"images_pts_us": ["0", "1000000"]},
        headers={"traceparent": TRACEPARENT, "X-Request-Id": "mine"},
    )
    body = answer.json()
    assert answer.status_code == 200, body
    assert len(body["words"]) == 4
    assert [(frame["id"], frame["status"]) for frame in body["frames"]] == [("f1", "seen"), ("f2", "failed")]
    assert {word_id for a in body["alignments"] for word_id in a["word_ids"]} == {1, 2, 3, 4}
    assert all(a["final"] for a in body["alignments"])
    assert body["duration_us"] == body["coverage"]["duration_us"] == 2_000_000
    assert body["degraded"] == []
    assert set(body["timing"]) == {"asr_us", "vision_us", "align_us", "total_us"}
    assert answer.headers["x-request-id"] == "mine"
    assert answer.headers["traceparent"].split("-")[1] == TRACEPARENT.split("-")[1]


async def test_images(http: httpx.AsyncClient):
    """Every image has its own answer, in order; a bad one its own error."""
    answer = await http.post(
        "/v1/images", files=[("image", picture("red")), ("image", b"?"), ("image", picture("blue"))]
    )
    red, bad, blue = answer.json()["images"]
    assert red["labels"][0]["text"] == "strawberry"
    assert blue["labels"][0]["text"] == "indigo bunting"
    assert bad["error"]["code"] == "unsupported_media"
    assert (red["input"]["width"], red["input"]["height"]) == (320, 240)


BAD = [
    ("no audio", {"files": {"images": picture()}}, 400, "audio"),
    ("no body", {}, 400, "audio"),
    ("times missing", {"files": [("audio", wav(0.5)), ("images", picture())]}, 400, "images_pts_us"),
    (
        "times no numbers",
        {"files": [("audio", wav(0.5)), ("images", picture())], "data": {"images_pts_us": "soon"}},
        400,
        "images_pts_us.0",
    ),
    (
        "times negative",
        {"files": [("audio", wav(0.5)), ("images", picture())], "data": {"images_pts_us": "-5"}},
        400,
        "images_pts_us",
    ),
    ("language unknown", {"files": {"audio": wav(0.5)}, "data": {"language": "xx"}}, 400, "language"),
    ("too large", {"files": {"audio": b"x" * 3_000_001}}, 413, None),
    (
        "too many images",
        {"files": [("audio", wav(0.5)), *[("images", b"x")] * 65], "data": {"images_pts_us": ["0"] * 65}},
        413,
        "images",
    ),
    ("not multipart", {"content": b"{}", "headers": {"content-type": "application/json"}}, 400, "audio"),
    (
        "broken multipart",
        {"content": b"--x\r\nnonsense", "headers": {"content-type": "multipart/form-data; boundary=x"}},
        400,
        "audio",
    ),
]


@pytest.mark.parametrize(("request_", "status", "param"), [b[1:] for b in BAD], ids=[b[0] for b in BAD])
async def test_bad_requests_are_problems(http: httpx.AsyncClient, request_: dict, status: int, param: str | None):
    """Each is a problem document with a code and the field; the next good request is answered."""
    answer = await http.post("/v1/alignments", **request_)
    body = answer.json()
    assert (answer.status_code, body["status"], body.get("param")) == (status, status, param), body
    assert answer.headers["content-type"] == "application/problem+json"
    assert body["request_id"] == answer.headers["x-request-id"]
    assert (await http.post("/v1/images", files={"image": picture()})).status_code == 200


async def test_unknown_routes_and_methods_are_problems(http: httpx.AsyncClient):
    """404 and 405 have the same shape as every other error."""
    for answer, status, code in (
        (await http.get("/nowhere"), 404, "not_found"),
        (await http.delete("/v1/images"), 405, "method_not_allowed"),
    ):
        assert (answer.status_code, answer.json()["status"], answer.json()["code"]) == (status, status, code)
    assert answer.headers["allow"] == "POST"


async def test_what_can_be_read_can_be_asked_for_its_head(http: httpx.AsyncClient):
    """HEAD answers as GET does, without the body, and is refused where GET is."""
    for path in ("/", "/livez", "/readyz", "/metrics", "/v1/models", "/openapi.json"):
        answer = await http.head(path)
        assert (answer.status_code, answer.content) == (200, b"")
        assert int(answer.headers["content-length"]) > 0
    assert (await http.head("/v1/images")).status_code == 405


async def test_health_metrics_docs_and_page(http: httpx.AsyncClient):
    """The server's own routes answer."""
    assert (await http.get("/livez")).json() == {"status": "alive"}
    ready = (await http.get("/readyz")).json()
    assert (ready["status"], ready["redis"]) == ("ready", True)
    assert ready["upstreams"] == {"asr": True, "vision": True, "aligner": True}
    metrics = (await http.get("/metrics")).text
    for name in ("attune_stage_seconds", "attune_sessions", "attune_loop_stall_p99_seconds"):
        assert name in metrics
    paths = (await http.get("/openapi.json")).json()["paths"]
    assert {"/v1/alignments", "/v1/images", "/v1/models", "/livez", "/readyz"} <= set(paths)
    assert (await http.get("/docs")).status_code == 200
    assert "Attune" in (await http.get("/")).text
    assert {model["id"] for model in (await http.get("/v1/models")).json()["data"]} == {"fake", "whisper-1"}


def test_a_body_that_stalls_gets_408_and_holds_nobody_up(fakes: Running):
    """Half an upload that never goes on is answered after the read timeout; others are served meanwhile."""
    host, port = fakes.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as stalled:
        fields = ["POST /v1/images HTTP/1.1", "Host: x", "Connection: close", "Content-Length: 999"]
        head = "\r\n".join([*fields, "Content-Type: multipart/form-data; boundary=b", "", ""])
        part = '--b\r\nContent-Disposition: form-data; name="image"; filename="x"\r\n\r\nhalf'
        stalled.sendall(f"{head}{part}".encode())
        started = time.monotonic()
        assert httpx.get(f"{fakes.url}/livez").status_code == 200
        assert time.monotonic() - started < 2
        stalled.settimeout(10)
        answer = stalled.makefile("rb").read().decode()
        assert answer.startswith("HTTP/1.1 408")
        assert '"code":"idle"' in answer


async def test_many_requests_at_once(http: httpx.AsyncClient):
    """Twenty requests side by side are all answered."""
    answers = await asyncio.gather(*(http.post("/v1/images", files={"image": picture()}) for _ in range(20)))
    assert [answer.status_code for answer in answers] == [200] * 20
