"""What the OpenAI audio routes take, checked; a field they do not know is refused and named."""

from dataclasses import replace
from typing import Annotated, Any, Literal

from fastapi import UploadFile
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from services.common.errors import InvalidInput
from services.common.types import Encoding, RecognizeConfig
from services.gateway.schemas import MODEL_ALIASES

Granularity = Literal["word", "segment"]
Include = Literal["logprobs"]


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


class SpeechForm(BaseModel):
    """What both routes take."""

    model_config = ConfigDict(extra="forbid")

    file: UploadFile = Field(description="A sound file of any container.")
    model: str = Field(min_length=1, max_length=200, description="One of GET /v1/models; whisper-1 is the default one.")
    prompt: str = Field("", description="Text said before the audio; of a long one the end counts.")
    response_format: Literal["json", "text", "srt", "verbose_json", "vtt"] = "json"
    temperature: float = Field(0.0, ge=0, le=1, description="0 takes the likeliest token, more samples.")

    def config(self) -> RecognizeConfig:
        """Return what the recogniser is asked for."""
        return RecognizeConfig(
            Encoding.FILE,
            model=MODEL_ALIASES.get(self.model, self.model),
            partials=False,
            prompt=self.prompt,
            temperature=self.temperature,
            details=self.response_format == "verbose_json",
        )


class TranslationForm(SpeechForm):
    """What ``POST /v1/audio/translations`` takes."""


class TranscriptionForm(SpeechForm):
    """What ``POST /v1/audio/transcriptions`` takes; lists with and without brackets."""

    language: str = Field("", max_length=35, description="ISO 639-1, e.g. en.")
    stream: bool = Field(False, description="Send the text as server-sent events while it is found.")
    chunking_strategy: Literal["auto"] | None = Field(None, description="Files are always cut at pauses.")
    granularities: Annotated[list[Granularity], BeforeValidator(_listed)] = Field([], alias="timestamp_granularities[]")
    bare_granularities: Annotated[list[Granularity], BeforeValidator(_listed)] = Field(
        [], alias="timestamp_granularities"
    )
    includes: Annotated[list[Include], BeforeValidator(_listed)] = Field([], alias="include[]")
    bare_includes: Annotated[list[Include], BeforeValidator(_listed)] = Field([], alias="include")

    @property
    def wanted(self) -> set[str]:
        """Return the granularities asked for."""
        return {*self.granularities, *self.bare_granularities}

    @property
    def logprobs(self) -> bool:
        """Return whether log probabilities are asked for."""
        return bool(self.includes or self.bare_includes)

    def check(self) -> None:
        """Raise InvalidInput for fields that do not go together."""
        if self.wanted and self.response_format != "verbose_json":
            raise InvalidInput(
                "timestamp_granularities need response_format verbose_json", param="timestamp_granularities"
            )
        if self.logprobs and self.response_format != "json":
            raise InvalidInput("logprobs need response_format json", param="include")
        if self.stream and self.response_format not in {"json", "text"}:
            raise InvalidInput("a stream needs response_format json or text", param="response_format")

    def config(self) -> RecognizeConfig:
        """Return what the recogniser is asked for."""
        asked = super().config()
        details = asked.details or self.logprobs or self.stream
        return replace(asked, language=self.language, details=details)
