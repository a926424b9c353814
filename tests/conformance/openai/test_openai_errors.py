"""What goes wrong reaches users of the official SDK as the exception they catch, with the field, and once."""

import io

import openai
import pytest

from tests.conformance.openai.conftest import Counted
from tests.conformance.openai.recordings import tone_wav, upload
from tests.running import Running

GOOD = {"model": "whisper-1"}
BAD = [
    ("unknown model", {"model": "gpt-4o-transcribe"}, openai.NotFoundError, "model", "model_not_found"),
    ("other language", {"language": "de"}, openai.BadRequestError, "language", "invalid_input"),
    ("no language", {"language": "xx"}, openai.BadRequestError, "language", "invalid_input"),
    ("no format", {"response_format": "docx"}, openai.BadRequestError, "response_format", "invalid_input"),
    ("no speakers", {"response_format": "diarized_json"}, openai.BadRequestError, "response_format", "invalid_input"),
    ("too hot", {"temperature": 1.5}, openai.BadRequestError, "temperature", "invalid_input"),
    ("no number", {"temperature": float("nan")}, openai.BadRequestError, "temperature", "invalid_input"),
    (
        "times of no format",
        {"timestamp_granularities": ["word"]},
        openai.BadRequestError,
        "timestamp_granularities",
        "invalid_input",
    ),
    (
        "unknown times",
        {"response_format": "verbose_json", "timestamp_granularities": ["phrase"]},
        openai.BadRequestError,
        "timestamp_granularities[].0",
        "invalid_input",
    ),
    (
        "probabilities of no format",
        {"include": ["logprobs"], "response_format": "srt"},
        openai.BadRequestError,
        "include",
        "invalid_input",
    ),
    (
        "a stream of no format",
        {"stream": True, "response_format": "srt"},
        openai.BadRequestError,
        "response_format",
        "invalid_input",
    ),
    ("keywords", {"keywords": ["a"]}, openai.BadRequestError, "keywords[]", "invalid_input"),
    ("unknown field", {"extra_body": {"speed": 2}}, openai.BadRequestError, "speed", "invalid_input"),
    ("no bytes", {"file": upload(b"")}, openai.BadRequestError, "file", "invalid_input"),
    ("no samples", {"file": upload(tone_wav(0))}, openai.BadRequestError, "file", "invalid_input"),
    ("no audio", {"file": upload(b"no sound" * 999)}, openai.BadRequestError, "file", "unsupported_media"),
    (
        "no audio, streamed",
        {"file": upload(b"no sound" * 999), "stream": True},
        openai.BadRequestError,
        "file",
        "unsupported_media",
    ),
    ("too long", {"file": upload(tone_wav(6))}, openai.APIStatusError, "file", "too_large"),
    ("too large", {"file": upload(bytes(2_000_001))}, openai.APIStatusError, None, "too_large"),
]


@pytest.mark.parametrize(("asked", "kind", "param", "code"), [b[1:] for b in BAD], ids=[b[0] for b in BAD])
def test_bad_requests_are_the_sdks_exceptions(
    small: Running, asked: dict, kind: type[openai.APIStatusError], param: str | None, code: str
):
    """The exception, its field, its code and its type are OpenAI's; the SDK does not try again."""
    counted = Counted(small)
    with counted.client as client, pytest.raises(openai.APIStatusError) as caught:
        client.audio.transcriptions.create(**{"file": upload(tone_wav(0.5)), **GOOD, **asked})
    error = caught.value
    assert type(error) is kind
    assert (error.param, error.code, error.type) == (param, code, "invalid_request_error")
    assert error.request_id
    assert error.message
    assert counted.requests == 1
    if code == "too_large":
        assert error.status_code == 413


def test_what_is_missing_is_named(small: Running):
    """A request without a file or a model says which."""
    with openai.OpenAI(base_url=f"{small.url}/v1", api_key="any") as client:
        for field, given in (("file", {"model": "whisper-1"}), ("model", {"file": upload(tone_wav(0.5))})):
            with pytest.raises(openai.BadRequestError) as caught:
                client.audio.transcriptions.create(**{"file": openai.omit, "model": openai.omit, **given})
            assert caught.value.param == field


def test_unknown_models_and_routes(small: Running):
    """Looking up what is not there is NotFoundError, and so is a method that the route does not have."""
    with openai.OpenAI(base_url=f"{small.url}/v1", api_key="any", max_retries=0) as client:
        with pytest.raises(openai.NotFoundError) as caught:
            client.models.retrieve("large-v3")
        assert (caught.value.code, caught.value.param) == ("model_not_found", "model")
        with pytest.raises(openai.APIStatusError) as caught:
            client.get("/audio/transcriptions", cast_to=object)
        assert (caught.value.status_code, caught.value.type) == (405, "invalid_request_error")


def test_good_requests_after_bad_ones(small: Running):
    """What was refused leaves nothing behind: the fake hears two words in a second of tone."""
    with openai.OpenAI(base_url=f"{small.url}/v1", api_key="any") as client:
        assert client.audio.transcriptions.create(file=upload(tone_wav(1)), model="fake").text == "w0 w1"


def test_an_absent_recogniser_is_told_as_such(small: Running):
    """Killed, it is InternalServerError 503 with Retry-After; the retries of the SDK bring the text."""
    small.child("asr").kill()
    with openai.OpenAI(base_url=f"{small.url}/v1", api_key="any", max_retries=0) as client:
        with pytest.raises(openai.InternalServerError) as caught:
            client.audio.transcriptions.create(file=upload(tone_wav(1)), model="fake")
        assert (caught.value.status_code, caught.value.code, caught.value.type) == (503, "unavailable", "server_error")
        assert caught.value.response.headers["x-should-retry"] == "true"
        assert caught.value.response.headers["retry-after"] == "1"
    counted = Counted(small)
    with counted.client.with_options(max_retries=9) as client:
        answer = client.audio.transcriptions.create(file=("a.wav", io.BytesIO(tone_wav(1)).getvalue()), model="fake")
    assert answer.text == "w0 w1"
    assert counted.requests > 1
