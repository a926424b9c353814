"""What a recogniser says of one file, collected for OpenAI's answers. Called by routes/transcriptions.py."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from services.common.errors import InvalidInput
from services.common.types import Committed, Coverage, Ready, Settled, SpeechEvent, Token, Warned, Word
from services.gateway.events import text_of


@dataclass
class Transcript:
    """Words in the windows they were heard in, and what was said about the file as a whole."""

    ready: Ready = field(default_factory=lambda: Ready(""))
    windows: list[Committed] = field(default_factory=list)
    warnings: list[Warned] = field(default_factory=list)
    duration_us: int = 0

    async def begin(self, events: AsyncIterator[SpeechEvent]) -> None:
        """Take events until the file is decoded; InvalidInput when it holds no audio, and what the port raises."""
        async for event in events:
            self.take(event)
            if isinstance(event, Settled | Coverage):
                break
        if not self.duration_us:
            raise InvalidInput("the file holds no audio", param="file")

    async def finish(self, events: AsyncIterator[SpeechEvent]) -> None:
        """Take all events that are left."""
        async for event in events:
            self.take(event)

    def take(self, event: SpeechEvent) -> None:
        """Note one event."""
        match event:
            case Ready():
                self.ready = event
            case Committed():
                self.windows.append(event)
            case Warned():
                self.warnings.append(event)
            case Settled(received_us=duration_us) | Coverage(duration_us):
                self.duration_us = duration_us

    @property
    def words(self) -> list[Word]:
        """Return all words."""
        return [word for window in self.windows for word in window.words]

    @property
    def tokens(self) -> list[Token]:
        """Return all tokens; none where no details were asked for."""
        return [token for word in self.words for token in word.tokens]

    @property
    def text(self) -> str:
        """Return all words as running text."""
        return text_of(self.words)

    @property
    def language(self) -> str:
        """Return the code of the language: asked for or the model's only one, else the first one heard."""
        found = (window.window.language for window in self.windows if window.window is not None)
        return self.ready.language or next(found, "")
