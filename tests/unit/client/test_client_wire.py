"""What a session sends."""

import json
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attune_client.errors import AttuneError
from attune_client.wire import AudioFormat, Framer, media_message, start_message, stream_address


def parts(message: bytes) -> tuple[int, bytes, int, int, bytes]:
    kind, zeros, seq, pts_us = struct.unpack_from(">B3sIQ", message)
    return kind, zeros, seq, pts_us, message[16:]


def test_a_binary_frame_is_laid_out_as_the_protocol_says() -> None:
    """Kind, three zero bytes, seq and pts big endian, then the payload."""
    assert media_message(2, 7, 258, b"x") == bytes([2, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 1, 2]) + b"x"


@settings(deadline=None)
@given(
    buffers=st.lists(st.integers(0, 30_000), max_size=6),
    rate_hz=st.sampled_from([8_000, 16_000, 44_100, 48_000]),
    channels=st.integers(1, 3),
)
def test_audio_is_split_numbered_and_stamped_by_its_samples(buffers: list[int], rate_hz: int, channels: int) -> None:
    """Whatever buffers come: no byte is lost, seq counts from 1, no frame is over 100 ms, pts is the sample count."""
    framer, size = Framer(AudioFormat("pcm_s16le", rate_hz, channels)), 2 * channels
    data = [bytes([number % 256]) * (samples * size) for number, samples in enumerate(buffers)]
    sent = [parts(message) for buffer in data for message in framer.audio(buffer)]
    assert b"".join(payload for *_, payload in sent) == b"".join(data)
    assert [seq for _, _, seq, _, _ in sent] == list(range(1, len(sent) + 1))
    before = 0
    for kind, zeros, _, pts_us, payload in sent:
        assert (kind, zeros, pts_us) == (1, b"\0\0\0", before * 1_000_000 // rate_hz)
        before += len(payload) // size
        assert len(payload) // size <= rate_hz // 10
    assert framer.clock_us == sum(buffers) * 1_000_000 // rate_hz


def test_images_count_apart_and_take_the_audio_clock() -> None:
    """An image without a time of its own is stamped with the time of the next audio sample."""
    framer = Framer(AudioFormat())
    assert parts(framer.image(b"a"))[2:4] == (1, 0)
    list(framer.audio(bytes(32_000)))
    assert parts(framer.image(b"b"))[2:4] == (2, 1_000_000)
    assert parts(framer.image(b"c", 5))[2:4] == (3, 5)


def test_missing_audio_moves_the_clock() -> None:
    """A given pts is where the next sample lies, and the count goes on from there."""
    framer = Framer(AudioFormat())
    list(framer.audio(bytes(3_200)))
    assert [parts(message)[3] for message in framer.audio(bytes(6_400), 9_000_000)] == [9_000_000, 9_100_000]


def test_half_a_sample_is_refused() -> None:
    """Bytes that end within a sample would shift all that follow."""
    with pytest.raises(AttuneError, match="whole samples") as caught:
        list(Framer(AudioFormat()).audio(b"abc"))
    assert caught.value.code == "invalid_input"


def test_containers_pass_whole() -> None:
    """Samples of a container cannot be counted from outside: it goes out as it comes."""
    assert [parts(m)[4] for m in Framer(AudioFormat("webm", 48_000, 2)).audio(bytes(50_001))] == [bytes(50_001)]


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("http://host:1", "ws://host:1/v1/stream"),
        ("https://host/", "wss://host/v1/stream"),
        ("ws://host:1/v1/stream", "ws://host:1/v1/stream"),
        ("wss://host/under", "wss://host/under/v1/stream"),
    ],
)
def test_any_form_of_the_address_will_do(url: str, address: str) -> None:
    """HTTP and WebSocket addresses lead to the same place."""
    assert stream_address(url) == address


@pytest.mark.parametrize(
    "url", ["host:1", "ftp://host", "http://", "", "http://:80", "http://host:99999", "http://host:a", "http://[::1"]
)
def test_what_is_no_address_is_refused(url: str) -> None:
    """A bad address is told at once, naming the argument."""
    with pytest.raises(AttuneError, match="not an address") as caught:
        stream_address(url)
    assert caught.value.param == "url"


def test_the_first_message_says_only_what_was_given() -> None:
    """What the caller left out is left to the server."""
    audio = {"encoding": "pcm_s16le", "sample_rate_hz": 16_000, "channels": 1}
    plain = {"type": "session.start", "audio": audio, "partials": True, "align": True}
    assert json.loads(start_message(AudioFormat(), {})) == plain
    asked = json.loads(start_message(AudioFormat(), {"language": "en", "align": False, "images": {}, "api_key": "k"}))
    assert asked == plain | {"language": "en", "align": False, "images": {}}
