"""A transcript in each of OpenAI's formats. Pure; called by routes/transcriptions.py and the streamed answer.

Times are seconds of the file. What the official SDK reads is in openai-python's ``types/audio``.
"""

from collections.abc import Iterable
from typing import Any

from services.common.types import Token, Word
from services.gateway.openai.languages import name_of
from services.gateway.openai.segments import Segment, segmented
from services.gateway.openai.transcript import Transcript

Json = dict[str, Any]

AUDIO_TOKENS_PER_S = 50  # positions of Whisper's encoder
FRAME_US = 10_000  # what ``seek`` counts
LOGPROB_DECIMALS = 5


def json_body(transcript: Transcript, *, logprobs: bool) -> Json:
    """Return the answer of ``json``."""
    body: Json = {"text": transcript.text, "usage": duration_usage(transcript.duration_us)}
    if logprobs:
        body["logprobs"] = logprobs_json(transcript.tokens)
    return body | warnings_json(transcript)


def verbose_body(transcript: Transcript, granularities: set[str], temperature: float) -> Json:
    """Return the answer of ``verbose_json``; segments are there unless only words are asked for."""
    body: Json = {
        "task": "transcribe",
        "language": name_of(transcript.language),
        "duration": transcript.duration_us / 1e6,
        "text": transcript.text,
    }
    if "segment" in granularities or not granularities:
        segments = segmented(transcript.windows)
        body["segments"] = [segment_json(number, segment, temperature) for number, segment in enumerate(segments)]
    if "word" in granularities:
        body["words"] = words_json(transcript.words)
    return body | {"usage": duration_usage(transcript.duration_us)} | warnings_json(transcript)


def segment_json(id: int, segment: Segment, temperature: float) -> Json:
    """Return one segment; seek and no_speech_prob are those of the window that it was heard in."""
    window = segment.window
    return {
        "id": id,
        "seek": window.start_us // FRAME_US if window else 0,
        "start": segment.start_us / 1e6,
        "end": segment.end_us / 1e6,
        "text": f" {segment.text}",  # joined, segments are the text, as with Whisper's
        "tokens": [token.id for token in segment.tokens],
        "temperature": temperature,
        "avg_logprob": round(segment.avg_logprob, LOGPROB_DECIMALS),
        "compression_ratio": round(segment.compression_ratio, LOGPROB_DECIMALS),
        "no_speech_prob": window.no_speech if window else 0.0,
    }


def words_json(words: Iterable[Word]) -> list[Json]:
    """Return words with their times."""
    return [{"word": word.text, "start": word.start_us / 1e6, "end": word.end_us / 1e6} for word in words]


def logprobs_json(tokens: Iterable[Token]) -> list[Json]:
    """Return tokens with their log probabilities; the bytes are exact where the text ends within a character."""
    return [
        {
            "token": token.text.decode(errors="replace"),
            "bytes": list(token.text),
            "logprob": round(token.logprob, LOGPROB_DECIMALS),
        }
        for token in tokens
    ]


def duration_usage(duration_us: int) -> Json:
    """Return the usage of models that are billed by duration."""
    return {"type": "duration", "seconds": duration_us / 1e6}


def token_usage(transcript: Transcript) -> Json:
    """Return the usage that a stream ends with: the encoder's positions and the prompt's tokens in, the text's out."""
    audio = transcript.duration_us * AUDIO_TOKENS_PER_S // 1_000_000
    text, output = transcript.ready.prompt_tokens, len(transcript.tokens)
    return {
        "type": "tokens",
        "input_tokens": audio + text,
        "input_token_details": {"audio_tokens": audio, "text_tokens": text},
        "output_tokens": output,
        "total_tokens": audio + text + output,
    }


def warnings_json(transcript: Transcript) -> Json:
    """Return the field that says what should be known about the file or the prompt; none where there is nothing."""
    found = [{"code": warning.code, "message": warning.message} for warning in transcript.warnings]
    return {"warnings": found} if found else {}


def text_body(transcript: Transcript) -> str:
    """Return the answer of ``text``: a line."""
    return f"{transcript.text}\n"


def srt_body(transcript: Transcript) -> str:
    """Return the answer of ``srt``: numbered cues."""
    cues = enumerate(segmented(transcript.windows), 1)
    return "".join(f"{number}\n{_times(segment, ',')}\n{segment.text}\n\n" for number, segment in cues)


def vtt_body(transcript: Transcript) -> str:
    """Return the answer of ``vtt`` (WebVTT)."""
    cues = "".join(f"{_times(segment, '.')}\n{_escaped(segment.text)}\n\n" for segment in segmented(transcript.windows))
    return f"WEBVTT\n\n{cues}"


def _times(segment: Segment, point: str) -> str:
    return f"{_clock(segment.start_us, point)} --> {_clock(segment.end_us, point)}"


def _clock(us: int, point: str) -> str:
    seconds, ms = divmod(us // 1000, 1000)
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}{point}{ms:03}"


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;")
