"""Settings of the speech service."""

import pytest
from pydantic import ValidationError

from services.asr.settings import AsrSettings


def test_the_environment_sets_them(monkeypatch):
    """Variables carry the service's prefix."""
    monkeypatch.setenv("ATTUNE_ASR_WORKERS", "3")
    assert AsrSettings().workers == 3


def test_unknown_variables_are_refused(monkeypatch):
    """A misspelt one would silently change nothing."""
    monkeypatch.setenv("ATTUNE_ASR_WORKRES", "3")
    with pytest.raises(ValidationError, match="ATTUNE_ASR_WORKRES"):
        AsrSettings()


@pytest.mark.parametrize("values", [{"workers": 0}, {"vad_start": 1.0}, {"max_window_s": 30.0}, {"max_file_bytes": 1}])
def test_values_are_bounded(values):
    """What cannot work is refused at the start."""
    with pytest.raises(ValidationError):
        AsrSettings(**values)


def test_every_field_says_what_it_does():
    """`--help` and the documentation are made of it."""
    assert all(field.description for field in AsrSettings.model_fields.values())
