"""What a realtime session can be set to."""

import pytest

from services.common.errors import InvalidInput
from services.common.types import Encoding
from services.gateway.realtime.options import Options, ServerVad, session_json, updated


def ga(**input_):
    """Return an update in the GA shape."""
    return {"type": "transcription", "audio": {"input": input_}}


def test_what_is_left_out_stays_and_null_turns_off():
    """An update changes what it names."""
    options = updated(Options(), ga(format={"type": "audio/pcmu"}, transcription={"language": "en"}), older=False)
    assert options == Options(format="audio/pcmu", language="en")
    options = updated(options, ga(turn_detection=None), older=False)
    assert options == Options(format="audio/pcmu", language="en", vad=None)
    assert updated(options, ga(turn_detection={"type": "server_vad"}), older=False).vad == ServerVad()
    assert updated(options, ga(transcription=None), older=False).language == ""


def test_both_shapes_set_the_same():
    """Names differ, meanings do not."""
    vad = {"type": "server_vad", "threshold": 0.4, "silence_duration_ms": 700}
    told = {"model": "whisper-1", "language": "en", "prompt": "p"}
    flat = {"input_audio_format": "g711_alaw", "input_audio_transcription": told, "turn_detection": vad}
    older = updated(Options(), {**flat, "include": ["item.input_audio_transcription.logprobs"]}, older=True)
    newer = updated(
        Options(),
        {
            **ga(format={"type": "audio/pcma"}, transcription=told, turn_detection=vad),
            "include": ["item.input_audio_transcription.logprobs"],
        },
        older=False,
    )
    assert older.config(7) == newer.config(7)
    assert newer.config(7).encoding is Encoding.ALAW
    assert (newer.config(7).vad_start, newer.config(7).min_silence_ms, newer.config(7).model) == (0.4, 700, "")
    shown = session_json(older, "s", "tiny.en")
    assert {name: shown[name] for name in flat} == {**flat, "turn_detection": {**vad, "prefix_padding_ms": 250}}


@pytest.mark.parametrize(
    ("session", "param"),
    [
        ({}, "session.type"),
        ({"type": "realtime"}, "session.type"),
        (ga(format="pcm16"), "session.audio.input.format"),
        (ga(turn_detection={"type": "server_vad", "threshold": 0}), "session.audio.input.turn_detection.threshold"),
        (ga(turn_detection={"type": "server_vad", "pause": 1}), "session.audio.input.turn_detection.pause"),
        (ga(transcription={"keywords": ["a"]}), "session.audio.input.transcription.keywords"),
        ({**ga(), "include": ["everything"]}, "session.include.0"),
    ],
)
def test_the_field_that_is_wrong_is_named(session: dict, param: str):
    """By its whole path, as the client wrote it."""
    with pytest.raises(InvalidInput) as caught:
        updated(Options(), session, older=False)
    assert caught.value.param == param
