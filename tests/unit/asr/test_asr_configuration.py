"""What a call may ask for."""

import pytest

from services.asr.configuration import checked
from services.common.errors import InvalidInput
from services.common.types import AudioChunk, Encoding, RecognizeConfig

GOOD = RecognizeConfig(Encoding.PCM_S16LE, 16_000)


def check(config):
    return checked(config, "tiny.en", lambda language: language == "en")


@pytest.mark.parametrize(
    ("config", "param"),
    [
        (None, "config"),
        (AudioChunk(1, 0, b""), "config"),
        (RecognizeConfig(Encoding.PCM_S16LE, 7_999), "sample_rate_hz"),
        (RecognizeConfig(Encoding.PCM_S16LE, 192_001), "sample_rate_hz"),
        (RecognizeConfig(Encoding.PCM_S16LE, 16_000, channels=0), "channels"),
        (RecognizeConfig(Encoding.PCM_S16LE, 16_000, channels=9), "channels"),
        (RecognizeConfig(Encoding.PCM_S16LE, 16_000, language="de"), "language"),
        (RecognizeConfig(Encoding.PCM_S16LE, 16_000, model="large"), "model"),
        (RecognizeConfig(Encoding.PCM_S16LE, 16_000, start_us=-1), "start_us"),
    ],
)
def test_what_is_wrong_is_named(config, param):
    """The error says which parameter it is."""
    with pytest.raises(InvalidInput) as caught:
        check(config)
    assert caught.value.param == param


def test_a_region_does_not_matter():
    """British English is English."""
    assert check(RecognizeConfig(Encoding.PCM_S16LE, 16_000, language="en-GB")).language == "en"


@pytest.mark.parametrize("encoding", [Encoding.FILE, Encoding.OPUS, Encoding.WEBM])
def test_containers_say_their_format_themselves(encoding):
    """Rate and channels are not needed."""
    assert check(RecognizeConfig(encoding)).encoding is encoding


def test_the_model_may_be_named():
    """Naming the one that is here is the same as naming none."""
    assert check(RecognizeConfig(Encoding.PCM_S16LE, 16_000, model="tiny.en")) == RecognizeConfig(
        Encoding.PCM_S16LE, 16_000, model="tiny.en"
    )
    assert check(GOOD) == GOOD
