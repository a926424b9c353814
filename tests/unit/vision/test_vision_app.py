"""The real encoder, opened as it is served."""

from contextlib import aclosing

import pytest
import torch
from pydantic import ValidationError

from services.common.ports import Call
from services.common.types import EncodeConfig, FailedFrame, Image
from services.vision.app import open_image_encoder
from services.vision.settings import VisionSettings
from tests.unit.vision.files import encoded, photograph


async def test_a_photograph_is_encoded_end_to_end():
    """Decoders in processes, network on workers: a cat is named beside a broken file."""
    data = encoded(photograph(), "JPEG")

    async def stream():
        yield EncodeConfig("efficientnet-lite0")
        yield Image("cut", 1, data[:2000])
        yield Image("cat", 2, data)

    async with (
        open_image_encoder(VisionSettings(decoder_processes=2, device="cpu")) as encoder,
        aclosing(encoder(stream(), Call())) as outputs,
    ):
        answers = {answer.id: answer async for answer in outputs}
    cat, cut = answers["cat"], answers["cut"]
    assert isinstance(cut, FailedFrame)
    assert cut.code == "invalid_input"
    assert "cat" in cat.labels[0].text or cat.labels[0].text == "tabby"
    assert (cat.tokens.rows, cat.tokens.cols, cat.tokens.dim, len(cat.embedding)) == (9, 14, 1000, 1280)
    assert len(cat.tokens.cells) == 9 * 14 * 1000 * 2
    assert (cat.report.width, cat.report.height) == (451, 300)
    assert cat.timing.device_us > 0


async def test_a_device_that_is_not_there_is_refused():
    """Opening fails with the device's name, not at the first image."""
    if torch.cuda.is_available():
        pytest.skip("this machine has the device")
    with pytest.raises(ValueError, match="cuda"):
        async with open_image_encoder(VisionSettings(device="cuda")):
            pass


@pytest.mark.parametrize(
    "changes", [{"workers": 0}, {"device": "gpu"}, {"model": "vgg"}, {"max_pixels": 10**9}, {"x": 1}]
)
def test_settings_are_bounded(changes):
    """Values beyond the bounds and unknown names are refused."""
    with pytest.raises(ValidationError):
        VisionSettings(**changes)


def test_settings_come_from_the_environment(monkeypatch):
    """Each field is a variable with the service's prefix."""
    monkeypatch.setenv("ATTUNE_VISION_MAX_SIDE_PX", "512")
    assert VisionSettings().max_side_px == 512
