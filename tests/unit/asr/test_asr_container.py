"""Whole audio files."""

import numpy as np
import pytest

from services.asr.container import decode_file
from services.common.errors import TooLarge, UnsupportedMedia
from tests.unit.asr.audio import encoded, silence, sound, wav

FORMATS = [
    ("wav", "pcm_s16le"),
    ("wav", "pcm_s24le"),
    ("wav", "pcm_f32le"),
    ("wav", "pcm_alaw"),
    ("wav", "pcm_mulaw"),
    ("flac", "flac"),
    ("mp3", "libmp3lame"),
    ("ogg", "libopus"),
    ("webm", "libopus"),
    ("ipod", "aac"),
]


@pytest.mark.parametrize(("container", "codec"), FORMATS)
def test_any_container_is_decoded(container, codec):
    """Rate and length survive, and the sound is still there."""
    tone = (8_000 * np.sin(np.arange(48_000) * 0.05)).astype("<i2")
    decoded = decode_file(encoded(tone, container, codec), 10.0)
    samples = np.frombuffer(decoded.samples, "<i2")
    assert decoded.rate_hz == 48_000
    assert samples.size == pytest.approx(48_000, abs=2_400)
    assert samples.std() == pytest.approx(tone.std(), rel=0.1)


@pytest.mark.parametrize("samples", [0, 1, 160])
def test_very_short_files_are_files(samples):
    """No sample, one sample and 10 ms are decoded as they are."""
    decoded = decode_file(wav(sound(1)[:samples]), 10.0)
    assert len(decoded.samples) == 2 * samples


def test_no_bytes_are_no_audio():
    """An empty upload holds nothing, and that is no error."""
    assert decode_file(b"", 10.0).samples == b""


@pytest.mark.parametrize("data", [b"hello", bytes(10_000), b"RIFF\x00\x00\x00\x00WAVE"])
def test_other_bytes_are_unsupported(data):
    """Whatever is no audio file gets the typed error."""
    with pytest.raises(UnsupportedMedia):
        decode_file(data, 10.0)


def test_a_long_file_is_refused_while_it_is_decoded():
    """Silence compresses a thousandfold: the ceiling is on what comes out."""
    with pytest.raises(TooLarge):
        decode_file(encoded(silence(120, 48_000), "ogg", "libopus"), 60.0)


def test_a_file_that_breaks_off_is_decoded_up_to_there():
    """What came before the end is still good."""
    data = encoded(sound(2, 48_000), "flac", "flac")
    decoded = decode_file(data[: len(data) * 2 // 3], 10.0)
    assert len(decoded.samples) > 48_000


@pytest.mark.parametrize(
    "playlist",
    [
        "#EXTM3U\n#EXT-X-TARGETDURATION:10\n#EXTINF:10,\nfile://{path}\n#EXT-X-ENDLIST\n",
        "ffconcat version 1.0\nfile '{path}'\n",
        "v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nt=0 0\nm=audio 5004 RTP/AVP 0\n",
    ],
)
def test_a_playlist_opens_nothing(playlist, tmp_path):
    """A file that names other files or addresses is refused; only media inside the bytes are read."""
    named = tmp_path / "named.wav"
    named.write_bytes(wav(np.zeros(16_000, np.int16), 16_000))
    with pytest.raises(UnsupportedMedia):
        decode_file(playlist.format(path=named).encode(), 60)
