"""``POST /v1/audio/transcriptions`` and ``/translations``: OpenAI's contract, a file in, its words out."""

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, aclosing
from typing import Annotated

from fastapi import APIRouter, Form, Request
from fastapi.responses import JSONResponse, PlainTextResponse, Response

from services.common.errors import InvalidInput, TooLarge, UnsupportedMedia
from services.common.ports import Call, Priority
from services.common.types import SpeechEvent
from services.gateway.audio_file import heard
from services.gateway.openai import formats
from services.gateway.openai.errors import no_model
from services.gateway.openai.forms import SpeechForm, TranscriptionForm, TranslationForm
from services.gateway.openai.streamed import StreamedTranscript
from services.gateway.openai.transcript import Transcript
from services.gateway.presence import while_present
from services.gateway.state import gateway

router = APIRouter(prefix="/v1/audio", tags=["openai"])

MULTIPART = "multipart/form-data"
TEXTS = {
    "text": ("text/plain", formats.text_body),
    "srt": ("application/x-subrip", formats.srt_body),
    "vtt": ("text/vtt", formats.vtt_body),
}


@router.post("/transcriptions", summary="Say what was said (OpenAI's contract)", response_model=None)
async def transcribe(request: Request, form: Annotated[TranscriptionForm, Form(media_type=MULTIPART)]) -> Response:
    """Return the text of a file in the format asked for, or as server-sent events."""
    form.check()
    transcript, events = Transcript(), await _events(request, form)
    if form.stream:
        await while_present(request.receive, _begin_or_close(form, transcript, events))
        answer: Response = StreamedTranscript(transcript, events, logprobs=form.logprobs)
    else:
        await while_present(request.receive, _hear(form, transcript, events))
        answer = _answer(form, transcript)
    return _with_warnings(answer, transcript)


@router.post("/translations", summary="Say in English what was said (OpenAI's contract)", response_model=None)
async def translate(request: Request, form: Annotated[TranslationForm, Form(media_type=MULTIPART)]) -> Response:
    """Return English text: what an English model hears is English already; a model of more languages is refused."""
    transcript, events = Transcript(), await _events(request, form)
    await while_present(request.receive, _hear(form, transcript, events, only="en"))
    return _with_warnings(_translated(form, transcript), transcript)


async def _events(request: Request, form: SpeechForm) -> AsyncGenerator[SpeechEvent, None]:
    call = Call(request_id=request.state.request_id, priority=Priority.FILE)
    return heard(await form.file.read(), form.config(), gateway(request), call)


async def _hear(
    form: SpeechForm, transcript: Transcript, events: AsyncGenerator[SpeechEvent, None], only: str = ""
) -> None:
    async with aclosing(events):
        await _begin(form, transcript, events)
        if only and transcript.ready.language != only:
            raise InvalidInput(f"the model {transcript.ready.model!r} translates nothing into English", param="model")
        await transcript.finish(events)


async def _begin_or_close(form: SpeechForm, transcript: Transcript, events: AsyncGenerator[SpeechEvent, None]) -> None:
    async with AsyncExitStack() as stack:
        stack.push_async_callback(events.aclose)
        await _begin(form, transcript, events)
        stack.pop_all()


async def _begin(form: SpeechForm, transcript: Transcript, events: AsyncGenerator[SpeechEvent, None]) -> None:
    """Take what comes until the file is decoded; all that can be wrong with the request is known then."""
    try:
        await transcript.begin(events)
    except (UnsupportedMedia, TooLarge) as error:
        raise type(error)(error.message, param="file") from error
    except InvalidInput as error:
        raise (no_model(form.model) if error.param == "model" else error) from None


def _answer(form: TranscriptionForm, transcript: Transcript) -> Response:
    match form.response_format:
        case "json":
            return JSONResponse(formats.json_body(transcript, logprobs=form.logprobs))
        case "verbose_json":
            return JSONResponse(formats.verbose_body(transcript, form.wanted, form.temperature))
        case _:
            return _text(form, transcript)


def _translated(form: TranslationForm, transcript: Transcript) -> Response:
    match form.response_format:
        case "json":
            return JSONResponse({"text": transcript.text} | formats.warnings_json(transcript))
        case "verbose_json":
            body = formats.verbose_body(transcript, set(), form.temperature)
            return JSONResponse(body | {"task": "translate"})
        case _:
            return _text(form, transcript)


def _text(form: SpeechForm, transcript: Transcript) -> Response:
    media_type, body_of = TEXTS[form.response_format]
    return PlainTextResponse(body_of(transcript), media_type=media_type)


def _with_warnings(answer: Response, transcript: Transcript) -> Response:
    codes = ", ".join(warning.code for warning in transcript.warnings)
    if codes:
        answer.headers["X-Attune-Warnings"] = codes
    return answer
