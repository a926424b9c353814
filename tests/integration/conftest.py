"""A whole server with fake models: real processes, real gRPC, a real Redis."""

import os
from collections.abc import Iterator

import pytest

from tests.running import Running, running_stack


@pytest.fixture(scope="session")
def fakes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Run `attune up` with fake models for all tests of the session."""
    models = {f"ATTUNE_{name}_MODEL": "fake" for name in ("ASR", "VISION", "ALIGNER")}
    limits = {"ATTUNE_GATEWAY_MAX_IMAGE_BYTES": "200000", "ATTUNE_GATEWAY_MAX_UPLOAD_BYTES": "3000000"}
    limits["ATTUNE_GATEWAY_READ_TIMEOUT_S"] = "1"
    with running_stack(tmp_path_factory.mktemp("fakes"), {**os.environ, **models, **limits}) as running:
        yield running
