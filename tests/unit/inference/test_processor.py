"""The turns on a process's processor, by its settings."""

import pytest
from prometheus_client import REGISTRY
from pydantic import ValidationError

from services.inference.processor import open_turns
from services.inference.settings import SchedulerSettings
from services.inference.turns import Ask
from tests.running import eventually


def utilisation() -> float | None:
    """Return the figure as it is exported."""
    return REGISTRY.get_sample_value("attune_utilisation", {"stage": "cpu"})


async def test_switched_off_there_are_none():
    """Engines then run as their workers like."""
    async with open_turns(SchedulerSettings(policy="off")) as turns:
        assert turns is None


@pytest.mark.parametrize("policy", ["embs", "fifo"])
async def test_a_process_gives_turns_and_says_how_full_it_is(policy: str):
    """A thread is one of the cores; the figures are exported without being asked for."""
    async with open_turns(SchedulerSettings(policy=policy, cores=4, refresh_s=0.01)) as turns:
        assert turns is not None
        assert turns.thread_share == 0.25
        async with turns.turn(Ask("new", 1.0, live=True)):
            await eventually(lambda: utilisation() == 1.0)
        await eventually(lambda: utilisation() == 0.0)


@pytest.mark.parametrize("wrong", [{"policy": "lifo"}, {"cores": 0}, {"refresh_s": 0.9}])
def test_settings_are_bounded(wrong: dict[str, object]):
    """An unknown policy, no core, or a profile that may grow older than 0.8 s is refused."""
    with pytest.raises(ValidationError):
        SchedulerSettings.read(**wrong)
