"""Collects a file that comes in pieces. Called by ``file_call.py`` and the fake."""

from collections.abc import AsyncIterator

from services.common.errors import InvalidInput, TooLarge
from services.common.types import AudioChunk, Flush, RecognizeConfig, SpeechInput


async def collected(inputs: AsyncIterator[SpeechInput], max_bytes: int) -> tuple[bytes, list[str]]:
    """Return the file and the markers of flushes; TooLarge as soon as it has more than ``max_bytes``."""
    data = bytearray()
    markers: list[str] = []
    async for item in inputs:
        match item:
            case AudioChunk():
                data += item.data
            case Flush(marker):
                markers.append(marker)
            case RecognizeConfig():
                raise InvalidInput("the configuration must come once, and first", param="config")
        if len(data) > max_bytes:
            raise TooLarge(f"the file is larger than {max_bytes} bytes")
    return bytes(data), markers
