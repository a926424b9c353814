"""What a realtime session is set to, and how clients of either shape change and see it. Pure.

Sources: openai-python's ``types/realtime/realtime_transcription_session_*`` (the GA shape) and
``types/beta/realtime/transcription_session*`` (the older one). Called by session.py.
"""

from dataclasses import dataclass, replace
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from services.common.errors import InvalidInput
from services.common.types import Encoding, RecognizeConfig
from services.gateway.schemas import MAX_ERROR_CHARS, MODEL_ALIASES

Json = dict[str, Any]

FORMATS = {
    "audio/pcm": (Encoding.PCM_S16LE, 24_000),
    "audio/pcmu": (Encoding.MULAW, 8_000),
    "audio/pcma": (Encoding.ALAW, 8_000),
}
OLDER_FORMATS = {"pcm16": "audio/pcm", "g711_ulaw": "audio/pcmu", "g711_alaw": "audio/pcma"}
OLDER_NAMES = {
    "input_audio_format": "format",
    "input_audio_transcription": "transcription",
    "input_audio_noise_reduction": "noise_reduction",
    "turn_detection": "turn_detection",
}
LOGPROBS = "item.input_audio_transcription.logprobs"
PREFIX_PADDING_MS = 250  # the recogniser always hears this much before speech starts


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _Format(_Part):
    type: Literal["audio/pcm", "audio/pcmu", "audio/pcma"]
    rate: Literal[24000, 8000] | None = None


class _Transcription(_Part):
    model: str | None = Field(None, max_length=200)
    language: str | None = Field(None, max_length=35)
    prompt: str | None = None


class _TurnDetection(_Part):
    type: Literal["server_vad"]
    threshold: float = Field(0.5, gt=0, lt=1)
    silence_duration_ms: int = Field(500, ge=100, le=3_000)
    # Taken and without effect: the padding is fixed, and nobody responds here.
    prefix_padding_ms: int | None = None
    create_response: bool | None = None
    interrupt_response: bool | None = None
    idle_timeout_ms: int | None = None


class _Input(_Part):
    format: _Format | None = None
    transcription: _Transcription | None = None
    turn_detection: _TurnDetection | None = None
    noise_reduction: Json | None = None  # taken and without effect: the answer says null


class _Audio(_Part):
    input: _Input = _Input()


class _Session(BaseModel):
    type: Literal["transcription"]
    audio: _Audio = _Audio()
    include: list[Literal["item.input_audio_transcription.logprobs"]] | None = None


@dataclass(frozen=True, slots=True)
class ServerVad:
    """The server ends turns: where speech is at least this probable it starts, after this much silence it stops."""

    threshold: float = 0.5
    silence_ms: int = 500


@dataclass(frozen=True, slots=True)
class Options:
    """All that can be set. Without ``vad`` the client ends turns itself; with ``older`` it speaks the older shape."""

    format: str = "audio/pcm"
    model: str = ""
    language: str = ""
    prompt: str = ""
    vad: ServerVad | None = ServerVad()
    logprobs: bool = False
    older: bool = False

    @property
    def bytes_per_s(self) -> int:
        """Return the bytes of one second of audio."""
        return self.config(0).bytes_per_s

    def config(self, start_us: int) -> RecognizeConfig:
        """Return what the recogniser is asked for, from ``start_us`` of the session on."""
        encoding, rate_hz = FORMATS[self.format]
        return RecognizeConfig(
            encoding,
            rate_hz,
            language=self.language,
            model=MODEL_ALIASES.get(self.model, self.model),
            partials=False,
            start_us=start_us,
            settled_us=start_us,
            prompt=self.prompt,
            details=self.logprobs,
            vad_start=self.vad.threshold if self.vad else 0.0,
            min_silence_ms=self.vad.silence_ms if self.vad else 0,
        )


def updated(options: Options, session: Json, *, older: bool) -> Options:
    """Return the options with what ``session`` sets; fields that it leaves out stay. InvalidInput names the field."""
    try:
        asked = _Session.model_validate(_as_ga(session) if older else session)
    except ValidationError as error:
        raise _first_problem(error) from None
    changes: Json = {"older": older}
    if "include" in asked.model_fields_set:
        changes["logprobs"] = bool(asked.include)
    return replace(options, **changes, **_changes(asked.audio.input))


def _first_problem(error: ValidationError) -> InvalidInput:
    found = error.errors(include_url=False, include_input=False, include_context=False)[0]
    param = ".".join(["session", *(str(step) for step in found["loc"])])[:MAX_ERROR_CHARS]
    return InvalidInput(f"{param}: {found['msg']}"[:MAX_ERROR_CHARS], param=param)


def _changes(asked: _Input) -> Json:
    changes: Json = {}
    if asked.format is not None:
        changes["format"] = asked.format.type
    if "transcription" in asked.model_fields_set:
        told = asked.transcription or _Transcription()
        changes |= {"model": told.model or "", "language": told.language or "", "prompt": told.prompt or ""}
    if "turn_detection" in asked.model_fields_set:
        vad = asked.turn_detection
        changes["vad"] = ServerVad(vad.threshold, vad.silence_duration_ms) if vad else None
    return changes


def _as_ga(session: Json) -> Json:
    asked = {new: session[old] for old, new in OLDER_NAMES.items() if old in session}
    if "format" in asked:
        asked["format"] = {"type": OLDER_FORMATS.get(asked["format"], asked["format"])}
    include = {"include": session["include"]} if "include" in session else {}
    return {"type": "transcription", "audio": {"input": asked}, **include}


def session_json(options: Options, session_id: str, model: str) -> Json:
    """Return the session as its client's shape has it, with what is in force; ``model`` is the recogniser's own."""
    input_ = _input_json(options, model)
    include = [LOGPROBS] if options.logprobs else []
    if not options.older:
        body = {"id": session_id, "object": "realtime.transcription_session", "type": "transcription"}
        return body | {"audio": {"input": input_}, "include": include}
    format_ = next(old for old, new in OLDER_FORMATS.items() if new == options.format)
    older = {old: input_[new] for old, new in OLDER_NAMES.items()} | {"input_audio_format": format_}
    body = {"id": session_id, "object": "realtime.transcription_session"}
    return body | {"modalities": ["text"]} | older | {"include": include}


def _input_json(options: Options, model: str) -> Json:
    rate = {"rate": 24_000} if options.format == "audio/pcm" else {}
    vad = options.vad
    return {
        "format": {"type": options.format, **rate},
        "transcription": {
            "model": options.model or model,
            "language": options.language or None,
            "prompt": options.prompt,
        },
        "noise_reduction": None,
        "turn_detection": {
            "type": "server_vad",
            "threshold": vad.threshold,
            "prefix_padding_ms": PREFIX_PADDING_MS,
            "silence_duration_ms": vad.silence_ms,
        }
        if vad
        else None,
    }
