"""Settings of the scheduler of a process's device, read from ``ATTUNE_SCHEDULER_*`` by `attune serve`."""

import os
from typing import Literal

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from services.common.settings import ProcessSettings


def usable_cores() -> int:
    """Return how many cores this process may run on."""
    return len(os.sched_getaffinity(0))


class SchedulerSettings(ProcessSettings):
    """How the services of one process share their processor."""

    model_config = SettingsConfigDict(env_prefix="ATTUNE_SCHEDULER_", frozen=True, extra="forbid")

    policy: Literal["embs", "fifo", "off"] = Field(
        "embs",
        description="embs: live before files, short and heavy first; fifo: in order of arrival; "
        "off: every worker runs when it likes.",
    )
    cores: int = Field(
        default_factory=usable_cores, ge=1, le=1024, description="Cores to share: fewer leave some to other processes."
    )
    fill: float = Field(
        1.35, gt=0, le=4, description="Share of the cores that embs gives out: more idles less, slows each run more."
    )
    stretch: float = Field(
        8.0, ge=0, le=100, description="Seconds that a second of work left may wait for shorter ones of its class."
    )
    refresh_s: float = Field(
        0.8, gt=0, le=0.8, description="Age at which the load profile is renewed: less follows faster, costs more."
    )
