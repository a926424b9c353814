"""Whole servers, and the official SDK as it comes from its package."""

import os
from collections.abc import AsyncIterator, Iterator

import openai
import pytest

from tests.running import Running, running_stack

FAKES = {f"ATTUNE_{name}_MODEL": "fake" for name in ("VISION", "ALIGNER")}
ROOM = 2  # calls that the recognisers of these servers take at once


@pytest.fixture(scope="package")
def speech(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Run `attune up` with the real recogniser."""
    seats = {"ATTUNE_ASR_MAX_SESSIONS": str(ROOM), "ATTUNE_ASR_MAX_FILES": str(ROOM)}
    limits = {**seats, "ATTUNE_ASR_MAX_LAG_S": "60"}
    with running_stack(tmp_path_factory.mktemp("speech"), {**os.environ, **FAKES, **limits}) as running:
        yield running


@pytest.fixture(scope="package")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Run `attune up` with fakes and narrow limits."""
    limits = {
        "ATTUNE_ASR_MODEL": "fake",
        "ATTUNE_ASR_MAX_FILE_S": "5",
        "ATTUNE_GATEWAY_MAX_UPLOAD_BYTES": "2000000",
        "ATTUNE_GATEWAY_IDLE_TIMEOUT_S": "2",
    }
    with running_stack(tmp_path_factory.mktemp("small"), {**os.environ, **FAKES, **limits}) as running:
        yield running


class Counted:
    """The arguments of a client that notes how many requests it makes, though its SDK tries again as it likes."""

    def __init__(self, running: Running) -> None:
        self.requests = 0
        http = openai.DefaultHttpx2Client(event_hooks={"request": [self._note]})
        self.client = openai.OpenAI(base_url=f"{running.url}/v1", api_key="any", http_client=http)

    def _note(self, _request: object) -> None:
        self.requests += 1


def client_of(running: Running, **options: object) -> openai.AsyncOpenAI:
    """Return an async client of a server; it does not try again."""
    ws = running.url.replace("http", "ws")
    return openai.AsyncOpenAI(
        base_url=f"{running.url}/v1", websocket_base_url=f"{ws}/v1", api_key="any", max_retries=0, **options
    )


@pytest.fixture
async def client(speech: Running) -> AsyncIterator[openai.AsyncOpenAI]:
    """Yield an async client of the server with the real recogniser."""
    async with client_of(speech) as client:
        yield client


@pytest.fixture
async def small_client(small: Running) -> AsyncIterator[openai.AsyncOpenAI]:
    """Yield an async client of the server with narrow limits."""
    async with client_of(small) as client:
        yield client
