"""Settings are bounded, and nothing that is misspelt is ignored."""

import pytest
from pydantic import ValidationError

from services.gateway.settings import GatewaySettings


def test_the_environment_is_read_and_given_values_win(monkeypatch: pytest.MonkeyPatch):
    """Variables fill the fields; a value given in code is stronger; None is no value."""
    monkeypatch.setenv("ATTUNE_GATEWAY_PORT", "1234")
    monkeypatch.setenv("ATTUNE_REDIS_URL", "redis://secret@h")
    settings = GatewaySettings.read(host="::1", port=None)
    assert (settings.host, settings.port) == ("::1", 1234)
    assert settings.redis_url is not None
    assert "secret" not in settings.model_dump_json()


@pytest.mark.parametrize(("name", "value"), [("ATTUNE_GATEWAY_PROT", "1"), ("ATTUNE_GATEWAY_PORT", "70000")])
def test_wrong_variables_are_refused(monkeypatch: pytest.MonkeyPatch, name: str, value: str):
    """A name that is no setting, or a value out of bounds, stops the start."""
    monkeypatch.setenv(name, value)
    with pytest.raises(ValidationError, match=name if "PROT" in name else "65535"):
        GatewaySettings()
