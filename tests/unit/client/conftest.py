"""A scripted server, real pictures and real speech for the client's tests."""

from collections.abc import AsyncGenerator
from pathlib import Path

import moonshine_voice
import pytest
import skimage.data
from PIL import Image

from tests.unit.client.server import Heard, Script, serving


@pytest.fixture
def script() -> Script:
    return Script()


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture
async def url(script: Script, heard: Heard) -> AsyncGenerator[str, None]:
    async with serving(script, heard) as address:
        yield address


@pytest.fixture(scope="session")
def speech() -> Path:
    """Ten seconds of a man reading Beckett."""
    return next(Path(moonshine_voice.__file__).parent.rglob("beckett.wav"))


@pytest.fixture
def images(tmp_path: Path) -> Path:
    folder = tmp_path / "images"
    folder.mkdir()
    Image.fromarray(skimage.data.chelsea()).save(folder / "a-cat.png")
    Image.fromarray(skimage.data.coffee()).save(folder / "b-coffee.jpg")
    return folder
