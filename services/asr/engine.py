"""The transcriber: checks the configuration, then serves a live stream or a whole file. Made by ``app.py``.

Speech inputs in, speech events out, as the port says. Model work runs on the workers, files are decoded in processes.
"""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from functools import partial

from services.asr.configuration import checked, first
from services.asr.file_call import serve_file
from services.asr.live_call import LiveCall, serve_live
from services.asr.loaded import Loaded
from services.asr.models.whisper import Prompt
from services.asr.produced import Emit, produced
from services.asr.prompting import prompt_tokens
from services.common.ports import Call
from services.common.types import Encoding, Ready, SpeechEvent, SpeechInput

EVENTS_WAITING = 64  # for a slow reader, before the work for it stops


class WhisperTranscriber:
    """The port on loaded models. It refuses with Overloaded a call that would make the live ones lag."""

    def __init__(self, loaded: Loaded) -> None:
        self._loaded = loaded

    def healthy(self) -> bool:
        """Return whether passes move on."""
        return self._loaded.listener.batcher.healthy()

    async def __call__(self, inputs: AsyncIterator[SpeechInput], call: Call) -> AsyncGenerator[SpeechEvent, None]:
        """Transcribe one stream. Guards around the port keep the call's deadline."""
        async with aclosing(self._events(inputs, call)) as events:
            async for event in events:
                yield event

    def _events(self, inputs: AsyncIterator[SpeechInput], call: Call) -> AsyncGenerator[SpeechEvent, None]:
        async def work(emit: Emit[SpeechEvent]) -> None:
            await self._serve(inputs, call, emit)

        return produced(work, EVENTS_WAITING)

    async def _serve(self, inputs: AsyncIterator[SpeechInput], call: Call, emit: Emit[SpeechEvent]) -> None:
        loaded, whisper = self._loaded.serving(call.priority), self._loaded.whisper
        config = checked(await first(inputs), loaded.name, whisper.speaks)
        with loaded.seats.taken(config) as measure:
            before, cut = (await loaded.listener.workers.run(partial(prompt_tokens, config, whisper.spelled))).value
            if cut is not None:
                await emit(cut)
            language = config.language if whisper.multilingual else "en"
            await emit(Ready(loaded.name, language, len(before)))
            prompt = Prompt(before, language=config.language, temperature=config.temperature)
            if config.encoding is Encoding.FILE:
                await serve_file(loaded, config, prompt, inputs, emit)
            else:  # live, unless its caller says otherwise
                await serve_live(LiveCall(loaded, config, prompt, measure), inputs, emit)
