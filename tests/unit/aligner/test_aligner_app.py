"""Opening the aligner."""

import subprocess
import sys

import pytest
from aligner_inputs import answers
from pydantic import ValidationError

from services.aligner.app import open_aligner
from services.aligner.settings import AlignerSettings
from services.common.types import AlignConfig


async def test_the_default_is_ready_when_it_yields() -> None:
    """The aligner with its real weights opens and takes a session."""
    async with open_aligner(AlignerSettings()) as aligner:
        assert await answers(aligner, AlignConfig("conse-minilm")) == []


async def test_weights_that_are_not_the_ones_expected_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file with another SHA-256 is never read; the error names both sums."""
    from services.aligner.models import minilm

    monkeypatch.setitem(minilm.SHA256, "tokenizer.json", "0" * 64)
    with pytest.raises(ValueError, match=r"tokenizer\.json"):
        async with open_aligner(AlignerSettings()):
            pass


def test_settings_are_bounded() -> None:
    """Values out of range and unknown names are refused."""
    for wrong in ({"window_s": -1}, {"max_frames": 0}, {"model": "clip"}, {"device": "gpu"}, {"windows": 3}):
        with pytest.raises(ValidationError):
            AlignerSettings(**wrong)


def test_importing_the_app_loads_no_torch_model() -> None:
    """The entry point can be imported, and its settings checked, without transformers."""
    script = "import sys, services.aligner.app; print('transformers' in sys.modules, 'torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]
