"""Opens the speech service's engine as a port. Called by `attune serve` and by tests."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from services.asr.settings import AsrSettings
from services.common.ports import Transcriber
from services.inference.turns import Turns

FAKE = "fake"


@asynccontextmanager
async def open_transcriber(settings: AsrSettings, turns: Turns | None = None) -> AsyncGenerator[Transcriber, None]:
    """Yield the transcriber once its models are loaded and warm and its processes run.

    Its passes, and what files need besides, take ``turns`` with the other services of the process.

    FileNotFoundError or ValueError where the model is missing or not what it should be.
    """
    # Imported late: the fake needs none of what the real engine loads.
    if settings.model == FAKE:
        from services.asr.models.fake import FakeTranscriber

        yield FakeTranscriber(settings)
        return
    from services.asr.engine import WhisperTranscriber
    from services.asr.loaded import open_loaded

    async with open_loaded(settings, turns) as loaded:
        yield WhisperTranscriber(loaded)
