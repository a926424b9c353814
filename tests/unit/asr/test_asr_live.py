"""One live session, with ears and a model that do as they are told."""

import numpy as np
import pytest

from services.asr.coverage import Ledger
from services.asr.endpoint import EndpointRules
from services.asr.hearing import Hearing
from services.asr.hypothesis import LocalAgreement
from services.asr.live import End, LiveSession
from services.asr.models.whisper import Prompt
from services.asr.pcm import PcmReader
from services.asr.recognition import GRACE, KEPT, Recognition
from services.common.types import Committed, Coverage, Encoding, Flush, Marker, Partial, Settled, SpeechStopped, Warned
from tests.unit.asr.asr_words import answered, heard
from tests.unit.asr.audio import chunks, only, silence, sound, text_of, words_of

MAX_WINDOW = 4 * 16_000
WORD = 8_000  # the model hears a word every half second


class LoudnessEars:
    """Takes for speech whatever is not silence; stands where the network is."""

    def __init__(self):
        self.session = self

    def run(self, _names, inputs):
        return np.array([[0.9 if inputs["input"][0, 64:].any() else 0.05]]), inputs["state"]


class CountingModel:
    """Hears "w3" in the fourth half second of the stream, whole half seconds only; notes what it was given."""

    def __init__(self):
        self.passes = []

    def hear(self, speech, prompt, frames):
        self.passes.append((speech, prompt))
        first = -(-max(speech.origin, speech.undecided) // WORD)
        last = (speech.origin + speech.samples.size) // WORD
        return [heard(f"w{n}", n * WORD, (n + 1) * WORD, (n,)) for n in range(first, last)]


class SilentModel(CountingModel):
    """Hears no word in anything."""

    def hear(self, speech, prompt, frames):
        self.passes.append((speech, prompt))
        return []


class FickleModel(CountingModel):
    """Never says the same twice."""

    def hear(self, speech, prompt, frames):
        words = super().hear(speech, prompt, frames)
        return [heard(f"{word.text}x{len(self.passes)}", word.start, word.end) for word in words]


def session_of(model, **values):
    hearing = Hearing(LoudnessEars(), EndpointRules(), 16_000, 0)
    recognition = Recognition(LocalAgreement(), hearing, MAX_WINDOW, Prompt())
    session = LiveSession(PcmReader(Encoding.PCM_S16LE, 1), hearing, recognition, Ledger(0), 8_000, **values)
    return Stepped(session, model)


class Stepped:
    """A session whose steps have their passes heard by a model at once."""

    def __init__(self, session, model):
        self.give, self.hearing = session.give, session.hearing
        self.step = lambda: answered(session.step(), model)


def step_all(session, *items):
    """Give the items one by one, as a slow sender would, and return all events."""
    events = []
    for item in items:
        session.give([item])
        more = True
        while more:
            new, more = session.step()
            events += new
    return events


def test_words_are_committed_in_order_once():
    """However windows are cut, each word comes once."""
    events = step_all(session_of(CountingModel()), *chunks(np.concatenate([sound(20), silence(1)])), End())
    assert text_of(events) == " ".join(f"w{n}" for n in range(40))
    assert isinstance(events[-1], Coverage)


def test_committed_words_are_forced_on_later_passes():
    """A pass gets the tokens of the window's committed words, or those before it as context."""
    model = CountingModel()
    step_all(session_of(model), *chunks(sound(3)))
    forced = [prompt.forced for _, prompt in model.passes]
    assert forced[0] == ()
    assert forced[-1] == tuple(range(len(forced[-1])))
    assert len(forced[-1]) > 2


@pytest.mark.parametrize("model", [CountingModel(), SilentModel(), FickleModel()], ids=["words", "none", "fickle"])
def test_windows_are_bounded(model):
    """Whatever the model says, no pass hears more than the longest window and what finding a cut takes."""
    session = session_of(model)
    step_all(session, *chunks(sound(60)))
    assert max(speech.samples.size for speech, _ in model.passes) <= MAX_WINDOW + GRACE + KEPT
    assert session.hearing.tape.end - session.hearing.tape.begin <= MAX_WINDOW + GRACE + KEPT


def test_speech_that_is_never_agreed_on_is_decided_all_the_same():
    """It cannot wait forever."""
    events = step_all(session_of(FickleModel()), *chunks(sound(20)))
    assert len(words_of(events)) > 20


def test_silence_costs_no_pass_and_no_memory():
    """However long it is; and it is settled while it lasts."""
    model = CountingModel()
    session = session_of(model)
    events = step_all(session, *chunks(silence(600), chunk_ms=1_000))
    assert model.passes == []
    assert session.hearing.tape.end - session.hearing.tape.begin < 16_000
    assert session.hearing.pauses._quiet[0][0] >= session.hearing.tape.begin
    assert only(events, Settled)[-1].until_us > 599_000_000


def test_a_pause_is_decoded_once():
    """The pass in the pause stands when the pause ends the speech."""
    model = CountingModel()
    session = session_of(model)
    step_all(session, *chunks(np.concatenate([sound(2), silence(0.4)])))
    passes = len(model.passes)
    events = step_all(session, *chunks(silence(0.6), start_us=2_400_000))
    assert len(model.passes) == passes
    assert only(events, Committed)


def test_a_backlog_is_worked_off_in_few_passes():
    """Audio that came at once is heard two seconds at a time."""
    slow, quick = CountingModel(), CountingModel()
    step_all(session_of(slow), *chunks(sound(10)))
    session = session_of(quick)
    session.give(chunks(sound(10)))
    while session.step()[1]:
        pass
    assert len(quick.passes) < len(slow.passes) / 2


def test_a_flush_in_silence_is_answered_at_once():
    """There is nothing to decide."""
    events = step_all(session_of(CountingModel()), Flush("a"), *chunks(silence(1)), Flush("b"))
    assert only(events, Marker) == [Marker("a"), Marker("b")]
    assert only(events, Committed) == []


def test_a_flush_takes_speech_that_has_just_begun():
    """Also when it is shorter than what counts as speech otherwise."""
    model = CountingModel()
    session = session_of(model)
    step_all(session, *chunks(silence(1)), *chunks(sound(0.07), start_us=1_000_000), Flush("m"))
    assert len(model.passes) == 1


def test_partials_show_the_rest_and_vanish_with_it():
    """After all is committed, no word is left on show."""
    events = step_all(session_of(CountingModel()), *chunks(np.concatenate([sound(2), silence(1)])))
    shown = [event for event in events if isinstance(event, Partial | Committed)]
    assert any(isinstance(event, Partial) and event.words for event in shown)
    assert isinstance(shown[-1], Committed)


def test_an_overlap_is_warned_of_once():
    """The sample count stays the clock."""
    events = step_all(session_of(CountingModel()), *chunks(silence(1)), *chunks(silence(1)), End())
    assert [event.code for event in only(events, Warned)] == ["clock_overlap"]
    assert events[-1] == Coverage(2_000_000, 0, 2_000_000)


@pytest.mark.parametrize("speech_ms", range(1_700, 2_600, 32))
def test_a_pause_is_noticed_wherever_it_begins(speech_ms: int):
    """A session whose sound came in one piece hears where speech ends, however near its limit that is."""
    session = session_of(CountingModel())
    session.give(chunks(np.concatenate([sound(speech_ms / 1000), silence(6)])))
    events, more = [], True
    while more:
        new, more = session.step()
        events += new
    assert [type(event) for event in events].count(SpeechStopped) == 1
    assert session.hearing.tape.end - session.hearing.tape.begin < 16_000
