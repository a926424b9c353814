"""The official SDK transcribes files: every format, every parameter, streamed, cancelled, side by side."""

import asyncio
import itertools
import re

import openai
import pytest
from openai.types.audio import (
    Transcription,
    TranscriptionTextDeltaEvent,
    TranscriptionTextDoneEvent,
    TranscriptionVerbose,
    TranslationVerbose,
)

from bench.measure import word_error_rate
from bench.speech import read_two_cities
from tests.conformance.openai.conftest import ROOM
from tests.conformance.openai.recordings import BECKETT, long_wav, recording, samples, upload
from tests.running import Running
from tests.unit.asr.audio import encoded

SHORT, LONG = recording("beckett.wav"), recording("two_cities.wav")
TIME = r"\d\d:\d\d:\d\d{}\d\d\d"


def test_the_sync_client_reads_json(speech: Running):
    """The plainest call of all: a path in, text and usage out; with the key nobody looks at yet."""
    with openai.OpenAI(base_url=f"{speech.url}/v1", api_key="any") as client, SHORT.open("rb") as file:
        answer = client.audio.transcriptions.create(file=file, model="whisper-1")
    assert type(answer) is Transcription
    assert word_error_rate(BECKETT, answer.text) <= 0.1
    assert (answer.usage.type, round(answer.usage.seconds, 1)) == ("duration", 10.0)
    assert answer.logprobs is None


async def test_text_srt_and_vtt(client: openai.AsyncOpenAI):
    """The text formats hold the same words, and cues that follow each other in time."""
    text, srt, vtt = [
        await client.audio.transcriptions.create(file=upload(LONG), model="tiny.en", response_format=kind)
        for kind in ("text", "srt", "vtt")
    ]
    assert text.endswith(".\n")
    assert vtt.startswith("WEBVTT\n\n00:00:0")
    for body, point in ((srt, ","), (vtt, ".")):
        time = TIME.format(re.escape(point))
        cues = re.findall(rf"({time}) --> ({time})\n(.+)\n\n", body)
        assert len(cues) > 5
        assert " ".join(cue[2] for cue in cues) == text.strip()
        moments = [moment for cue in cues for moment in cue[:2]]
        assert moments == sorted(moments)
    assert re.findall(r"^\d+$", srt, re.MULTILINE) == [str(number + 1) for number in range(len(cues))]


async def test_verbose_json_with_segments(client: openai.AsyncOpenAI):
    """Segments are there unasked, in order, joined they are the text, and their figures are the model's own."""
    answer = await client.audio.transcriptions.create(
        file=upload(LONG), model="tiny.en", response_format="verbose_json"
    )
    assert type(answer) is TranscriptionVerbose
    assert (answer.task, answer.language, answer.words) == ("transcribe", "english", None)
    assert abs(answer.duration - 44.4) < 0.1
    assert answer.usage.seconds == answer.duration
    segments = answer.segments
    assert "".join(segment.text for segment in segments).strip() == answer.text
    assert [segment.id for segment in segments] == list(range(len(segments)))
    assert all(a.end <= b.start and a.seek <= b.seek for a, b in itertools.pairwise(segments))
    assert all(s.seek / 100 <= s.start < s.end <= answer.duration and s.end - s.start <= 8 for s in segments)
    assert all(-1 < s.avg_logprob < 0 and 0 < s.no_speech_prob < 0.6 and s.temperature == 0 for s in segments)
    assert len({s.avg_logprob for s in segments}) == len(segments)
    assert len({s.no_speech_prob for s in segments}) == len({s.seek for s in segments}) > 1
    assert all(0.4 < s.compression_ratio < 2 and s.tokens for s in segments)


async def test_word_times(client: openai.AsyncOpenAI):
    """Words come only when asked for, with and without brackets, and alone when alone asked for."""
    both = await client.audio.transcriptions.create(
        file=upload(SHORT), model="tiny.en", response_format="verbose_json", timestamp_granularities=["word", "segment"]
    )
    alone = await client.audio.transcriptions.create(
        file=upload(SHORT),
        model="tiny.en",
        response_format="verbose_json",
        extra_body={"timestamp_granularities": "word"},
    )
    assert both.words == alone.words
    assert (alone.segments, bool(both.segments)) == (None, True)
    assert " ".join(word.word for word in both.words) == both.text
    assert all(word.start <= word.end for word in both.words)
    assert all(a.end <= b.start for a, b in itertools.pairwise(both.words))


async def test_log_probabilities(client: openai.AsyncOpenAI):
    """The tokens, joined, are the text, byte for byte, and each is as probable as the model says."""
    answer = await client.audio.transcriptions.create(file=upload(SHORT), model="tiny.en", include=["logprobs"])
    assert bytes(int(byte) for token in answer.logprobs for byte in token.bytes).decode().strip() == answer.text
    assert "".join(token.token for token in answer.logprobs).strip() == answer.text
    assert all(-10 < token.logprob <= 0 for token in answer.logprobs)
    assert len({token.logprob for token in answer.logprobs}) > len(answer.logprobs) / 2


async def test_the_prompt_steers_the_spelling(client: openai.AsyncOpenAI):
    """What is told in capitals is heard in capitals; the next request knows nothing of it."""
    told = await client.audio.transcriptions.create(
        file=upload(SHORT), model="tiny.en", prompt="BECKETT, WORSTWARD HO. ALL BEFORE. NOTHING ELSE EVER."
    )
    alone = await client.audio.transcriptions.create(file=upload(SHORT), model="tiny.en")
    assert "FAIL BETTER" in told.text
    assert "Fail better" in alone.text


@pytest.mark.parametrize(
    "prompt", ["A tale of two cities. " * 200, "word " * 5_000, "<|endoftext|><|startoftranscript|>"]
)
async def test_any_prompt_is_borne(client: openai.AsyncOpenAI, prompt: str):
    """A prompt that is too long is cut, which is said twice; one of nonsense or of the model's marks ruins no text."""
    raw = await client.audio.transcriptions.with_raw_response.create(file=upload(SHORT), model="tiny.en", prompt=prompt)
    answer = raw.parse()
    assert word_error_rate(BECKETT, answer.text) <= 0.1
    if len(prompt) > 100:
        assert raw.headers["x-attune-warnings"] == "prompt_truncated"
        assert answer.warnings[0]["code"] == "prompt_truncated"
    else:
        assert "x-attune-warnings" not in raw.headers


async def test_the_temperature_reaches_the_decoder(client: openai.AsyncOpenAI):
    """At 1 the decoder samples: of some answers not all are equal; at 0 all are. The segment says which it was."""

    async def heard(temperature: float) -> str:
        answer = await client.audio.transcriptions.create(
            file=upload(LONG), model="tiny.en", temperature=temperature, response_format="verbose_json"
        )
        assert {segment.temperature for segment in answer.segments} == {temperature}
        return answer.text

    assert len({await heard(1.0) for _ in range(3)}) > 1
    assert len({await heard(0.0) for _ in range(2)}) == 1


async def test_a_stream_brings_deltas_and_usage(client: openai.AsyncOpenAI):
    """The deltas, joined, are the text of the last event and of the plain answer; the usage counts tokens."""
    stream = await client.audio.transcriptions.create(
        file=upload(LONG), model="whisper-1", stream=True, include=["logprobs"]
    )
    events = [event async for event in stream]
    plain = await client.audio.transcriptions.create(file=upload(LONG), model="whisper-1")
    *deltas, done = events
    assert {type(event) for event in deltas} == {TranscriptionTextDeltaEvent}
    assert len(deltas) > 1
    assert type(done) is TranscriptionTextDoneEvent
    assert "".join(event.delta for event in deltas) == done.text == plain.text
    told = [token.model_dump() for event in deltas for token in event.logprobs]
    assert told == [token.model_dump() for token in done.logprobs]
    assert done.usage.output_tokens == len(done.logprobs)
    assert done.usage.total_tokens == done.usage.input_tokens + done.usage.output_tokens


def test_the_sync_client_reads_a_stream(speech: Running):
    """So does the other client."""
    with openai.OpenAI(base_url=f"{speech.url}/v1", api_key="any") as client:
        stream = client.audio.transcriptions.create(
            file=upload(SHORT), model="tiny.en", stream=True, response_format="text"
        )
        assert [event.type for event in stream][-1] == "transcript.text.done"


async def test_every_container_the_sdk_names(client: openai.AsyncOpenAI):
    """A file is known by its bytes, whatever it is called."""
    pcm = samples("beckett.wav", 48_000)
    kinds = [("mp3", "mp3"), ("ogg", "libopus"), ("flac", "flac"), ("webm", "libopus"), ("mp4", "aac")]
    for container, codec in kinds:
        file = upload(encoded(pcm, container, codec), "speech.bin")
        answer = await client.audio.transcriptions.create(file=file, model="tiny.en")
        assert word_error_rate(BECKETT, answer.text) <= 0.1, container


async def test_a_long_file(client: openai.AsyncOpenAI):
    """Three minutes have all their words."""
    answer = await client.audio.transcriptions.create(file=upload(long_wav(4)), model="tiny.en", language="en")
    assert word_error_rate(" ".join([read_two_cities().text] * 4), answer.text) <= 0.05


async def test_requests_side_by_side_share_nothing(client: openai.AsyncOpenAI):
    """Two at once, with other prompts, temperatures and formats, answer as each does alone."""

    async def short() -> object:
        return await client.audio.transcriptions.create(file=upload(SHORT), model="tiny.en", prompt="BECKETT. NEVER.")

    async def long() -> object:
        return await client.audio.transcriptions.create(file=upload(LONG), model="tiny.en", response_format="srt")

    alone = (await short(), await long())
    for _ in range(2):
        assert tuple(await asyncio.gather(short(), long())) == alone


async def test_a_stream_that_is_closed_frees_the_recogniser(client: openai.AsyncOpenAI):
    """With its room full of long files the next call is refused; once they are let go it is taken at once."""
    streams = [
        await client.audio.transcriptions.create(file=upload(long_wav(4)), model="tiny.en", stream=True)
        for _ in range(ROOM)
    ]
    with pytest.raises(openai.RateLimitError) as caught:
        await client.audio.transcriptions.create(file=upload(SHORT), model="tiny.en")
    assert int(caught.value.response.headers["retry-after"]) >= 1
    assert caught.value.response.headers["x-should-retry"] == "true"
    for stream in streams:
        await stream.close()
    await _until_taken(client)


async def test_a_request_that_is_cancelled_frees_the_recogniser(client: openai.AsyncOpenAI):
    """So does a plain request whose caller hangs up."""
    patient = client.with_options(max_retries=9)  # a short call may be in before them
    calls = [
        asyncio.create_task(patient.audio.transcriptions.create(file=upload(long_wav(12)), model="tiny.en"))
        for _ in range(ROOM)
    ]
    with pytest.raises(openai.RateLimitError):
        while not any(call.done() for call in calls):
            await asyncio.sleep(0.5)  # leaves room for the long ones, which are larger to send
            await client.audio.transcriptions.create(file=upload(SHORT), model="tiny.en")
    for call in calls:
        call.cancel()
    await asyncio.gather(*calls, return_exceptions=True)
    await _until_taken(client)


async def _until_taken(client: openai.AsyncOpenAI) -> None:
    """Wait until a short file is taken; far sooner than the long ones would have ended."""
    async with asyncio.timeout(6):
        while True:
            try:
                await client.audio.transcriptions.create(file=upload(SHORT), model="tiny.en")
            except openai.RateLimitError:
                await asyncio.sleep(0.1)
            else:
                return


async def test_translations(client: openai.AsyncOpenAI):
    """What an English model hears is English already."""
    with pytest.warns(DeprecationWarning):
        answer = await client.audio.translations.create(
            file=upload(SHORT), model="whisper-1", response_format="verbose_json"
        )
        text = await client.audio.translations.create(file=upload(SHORT), model="whisper-1", response_format="text")
        plain = await client.audio.translations.create(file=upload(SHORT), model="whisper-1")
    assert type(answer) is TranslationVerbose
    assert (answer.task, answer.language) == ("translate", "english")
    assert answer.text == text.strip() == plain.text
    assert word_error_rate(BECKETT, answer.text) <= 0.1


async def test_models(client: openai.AsyncOpenAI):
    """The model that runs and its alias can be listed and looked up; both transcribe."""
    listed = [model.id async for model in client.models.list()]
    assert listed == ["tiny.en", "whisper-1"]
    for name in listed:
        model = await client.models.retrieve(name)
        assert (model.id, model.object, model.owned_by) == (name, "model", "attune")
        assert model.created > 1_600_000_000
