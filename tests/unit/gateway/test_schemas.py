"""Messages on the live socket, good and bad."""

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.common.errors import AttuneError, InvalidInput, TooLarge
from services.gateway.schemas import HEADER, FlushRequest, Limits, Media, SessionStart, read_binary, read_text


def test_a_session_starts_with_defaults():
    """Only the type is needed; 16 kHz mono PCM is the default."""
    start = read_text('{"type":"session.start"}')
    assert isinstance(start, SessionStart)
    assert (start.audio.encoding, start.audio.sample_rate_hz, start.audio.channels) == ("pcm_s16le", 16_000, 1)


def test_openais_model_name_is_the_default():
    """whisper-1 asks for the default; any other name is passed on."""
    names = [read_text(f'{{"type":"session.start","model":"{name}"}}') for name in ("whisper-1", "tiny.en")]
    assert [start.model for start in names if isinstance(start, SessionStart)] == ["", "tiny.en"]


def test_binary_and_json_media_are_the_same():
    """Both forms of a frame read as equal media."""
    binary = read_binary(HEADER.pack(1, 7, 350_000) + b"\x01\x02")
    text = read_text(json.dumps({"type": "audio", "seq": 7, "pts_us": 350_000, "data": "AQI="}))
    assert binary == text == Media("audio", 7, 350_000, b"\x01\x02")


@pytest.mark.parametrize(
    ("text", "param"),
    [
        ("", None),
        ("nonsense", None),
        ("[]", None),
        ("{}", "type"),
        ('{"type":"dance"}', "type"),
        ('{"type":"audio","seq":true,"pts_us":0,"data":""}', "seq"),
        ('{"type":"flush"}', "marker"),
        ('{"type":"flush","marker":7}', "marker"),
        ('{"type":"session.start","audio":{"encoding":"mp9"}}', "audio.encoding"),
        ('{"type":"session.start","audio":{"sample_rate_hz":1}}', "audio.sample_rate_hz"),
        ('{"type":"session.start","audio":{"channels":0}}', "audio.channels"),
        ('{"type":"audio","seq":0,"pts_us":0,"data":""}', "seq"),
        ('{"type":"audio","seq":1,"pts_us":-1,"data":""}', "pts_us"),
        ('{"type":"image","seq":1,"pts_us":0,"data":"%%%"}', "data"),
        ("[" * 100_000, None),
        ('{"type":"keepalive","x":' + "1" * 5000 + "}", None),
    ],
)
def test_malformed_messages_name_what_is_wrong(text: str, param: str | None):
    """Each is InvalidInput with the field's path."""
    with pytest.raises(InvalidInput) as caught:
        read_text(text)
    assert caught.value.param == param


def test_an_error_does_not_echo_a_long_message():
    """What comes back of a huge message is short."""
    with pytest.raises(InvalidInput) as caught:
        read_text(json.dumps({"type": "A" * 200_000}))
    assert len(caught.value.message) <= 300


@given(st.binary(max_size=64))
def test_any_binary_frame_is_media_or_invalid(frame: bytes):
    """No bytes raise anything but InvalidInput."""
    with contextlib.suppress(InvalidInput):
        assert isinstance(read_binary(frame), Media)


@given(st.text(max_size=200))
def test_any_text_is_a_message_or_invalid(text: str):
    """No text raises anything but an error of the table."""
    with contextlib.suppress(AttuneError):
        read_text(text)


def test_limits_are_per_kind():
    """Audio and images have their own largest size; seq counts from 1; an image has bytes."""
    limits = Limits(max_audio_frame_bytes=10, max_image_bytes=20)
    limits.check(Media("image", 1, 0, b"x" * 20))
    with pytest.raises(TooLarge):
        limits.check(Media("audio", 1, 0, b"x" * 11))
    with pytest.raises(InvalidInput):
        limits.check(Media("image", 1, 0, b""))
    with pytest.raises(InvalidInput):
        read_binary(HEADER.pack(1, 0, 0))


def test_a_flush_names_its_marker():
    """The marker comes back as it was given."""
    assert read_text('{"type":"flush","marker":"m 1"}') == FlushRequest(type="flush", marker="m 1")
