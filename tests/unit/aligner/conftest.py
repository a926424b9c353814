"""The aligners under test."""

from collections.abc import AsyncIterator

import pytest

from services.aligner.app import open_aligner
from services.aligner.settings import AlignerSettings
from services.common.ports import Aligner


@pytest.fixture
async def aligner() -> AsyncIterator[Aligner]:
    """Return an aligner that matches class names, without weights."""
    async with open_aligner(AlignerSettings(model="fake")) as port:
        yield port
