"""Decodes a whole audio file; runs in a process of its own, so it imports little. Called through ``Processes``.

Bytes of any container in; 16-bit mono samples out, at the file's own rate where that is between 8 and 48 kHz.
"""

import io
from dataclasses import dataclass

import av
import numpy as np

from services.common.errors import TooLarge, UnsupportedMedia

SLOWEST_HZ, FASTEST_HZ = 8_000, 48_000  # speech has nothing above, and memory is dear
# Only containers that hold their own media: a playlist (m3u8, sdp, concat) would make FFmpeg open files and addresses
# that its sender names.
CONTAINERS = "wav,w64,aiff,au,caf,mp3,aac,flac,ogg,matroska,webm,mov,mp4,m4a,amr,asf"
SAFE = {"format_whitelist": CONTAINERS, "protocol_whitelist": ""}
UNREADABLE = "the bytes are no audio file that can be read"


@dataclass(frozen=True, slots=True)
class DecodedFile:
    """Samples as little-endian int16, and what the decoder had to say about them."""

    samples: bytes
    rate_hz: int
    damaged: bool = False


def decode_file(data: bytes, max_s: float) -> DecodedFile:
    """Return the first audio stream of a file. UnsupportedMedia when it has none, TooLarge beyond ``max_s``."""
    if not data:
        return DecodedFile(b"", SLOWEST_HZ)
    try:
        with av.open(io.BytesIO(data), options=SAFE, metadata_errors="replace") as container:
            if not container.streams.audio:
                raise UnsupportedMedia("the file has no audio in it")
            return _decoded(container, container.streams.audio[0], max_s)
    except (
        av.error.FFmpegError,
        AttributeError,
        ValueError,
        EOFError,
    ) as error:  # a stream without a decoder has no rate
        raise UnsupportedMedia(UNREADABLE) from error


def _decoded(container: "av.container.InputContainer", stream: "av.AudioStream", max_s: float) -> DecodedFile:
    rate_hz = min(max(stream.rate, SLOWEST_HZ), FASTEST_HZ)
    resampler = av.AudioResampler("flt", "mono", rate_hz)
    pieces: list[bytes] = []
    left = int(max_s * rate_hz)
    damaged = False
    frames = container.decode(stream)
    while True:
        try:
            frame = next(frames)
        except StopIteration:
            break
        except av.error.FFmpegError:
            damaged = True  # what came before it is still good
            break
        left -= _append(pieces, resampler, frame)
        if left < 0:
            raise TooLarge(f"the file is longer than {max_s:g} s")
    _append(pieces, resampler, None)
    if damaged and not pieces:
        raise UnsupportedMedia(UNREADABLE)
    return DecodedFile(b"".join(pieces), rate_hz, damaged)


def _append(pieces: list[bytes], resampler: "av.AudioResampler", frame: "av.AudioFrame | None") -> int:
    count = 0
    for part in resampler.resample(frame):
        samples = np.clip(np.nan_to_num(part.to_ndarray()[0]), -1.0, 1.0)
        pieces.append((samples * 32_767).astype("<i2").tobytes())
        count += samples.size
    return count
