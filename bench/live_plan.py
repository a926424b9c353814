"""The workload of ``attune bench scheduler --live``: a seed in, what is sent when out. Pure; called by live_order.py.

Talks of a few seconds, pictures and phrases come at random all the time; recordings and folders of pictures are handed
in, in three bursts, until they and the live part ask for ``load`` times what the cores have while the bursts last. What
each asks for is taken from the recording that the simulation uses.
"""

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass

from bench.workload import FOLDER

SPEECH, PICTURE, PHRASE, FILE, FOLDER_OF_PICTURES = "speech", "picture", "phrase", "file", "folder"
RATES_PER_S = {SPEECH: 0.25, PICTURE: 1.0, PHRASE: 1.0}  # for each core
SPEECH_S = (3.0, 5.0, 8.0)
FILE_S = (10.0, 20.0, 44.0, 88.0, 176.0)
PICTURES = (4, 12, 24)
BURSTS = 3
BURST_SHARE = 0.5  # of the time, after a sixth of it


@dataclass(frozen=True, slots=True)
class Sent:
    """A request: when, what, how much of it (seconds of sound or pictures), and which; ``cost_s`` of one core."""

    at_s: float
    kind: str
    size: float
    which: int
    cost_s: float

    @property
    def live(self) -> bool:
        """Return whether somebody listens meanwhile."""
        return self.kind in RATES_PER_S


@dataclass(frozen=True, slots=True)
class Plan:
    """What is sent for how long, and how much of the cores it asks for during the bursts."""

    sent: tuple[Sent, ...]
    load: float


def planned(seed: int, seconds: float, load: float, cores: int) -> Plan:
    """Return the plan for a machine with so many cores."""
    draw, costs = random.Random(seed), costs_s()  # noqa: S311  # to repeat it is the point
    live = [one for kind, rate in RATES_PER_S.items() for one in _live(draw, kind, rate * cores, seconds, costs[kind])]
    begin_s, length_s = seconds / 6, seconds * BURST_SHARE
    asked_s = sum(one.cost_s for one in live if begin_s <= one.at_s < begin_s + length_s)
    files: list[Sent] = []
    while asked_s < load * cores * length_s:
        at_s = begin_s + len(files) % BURSTS * length_s / BURSTS
        files.append(_file(draw, at_s, costs))
        asked_s += files[-1].cost_s
    sent = sorted([*live, *files], key=lambda one: one.at_s)
    return Plan(tuple(sent), asked_s / cores / length_s)


def costs_s() -> dict[str, float]:
    """Return the seconds of a core that one second of sound, one picture and one phrase took when recorded."""
    requests = json.loads((FOLDER / "tour.json").read_text(encoding="utf-8"))["requests"]
    totals: dict[str, tuple[float, float]] = {}
    for request in requests:
        cpu_s, size = totals.get(request["kind"], (0.0, 0.0))
        size += request["size"] if request["kind"].startswith("asr") else 1.0
        totals[request["kind"]] = cpu_s + request["cpu_s"], size
    per_unit = {kind: cpu_s / size for kind, (cpu_s, size) in totals.items()}
    picture = per_unit["vision.image"]
    return {
        SPEECH: per_unit["asr.utterance"],
        PICTURE: picture,
        PHRASE: per_unit["aligner.phrase"],
        FILE: per_unit["asr.file"],
        FOLDER_OF_PICTURES: picture,
    }


def _live(draw: random.Random, kind: str, rate: float, seconds: float, cost_s: float) -> Iterator[Sent]:
    at_s = draw.expovariate(rate)
    while at_s < seconds:
        size = draw.choice(SPEECH_S) if kind == SPEECH else 1.0
        yield Sent(at_s, kind, size, draw.randrange(2**16), size * cost_s)
        at_s += draw.expovariate(rate)


def _file(draw: random.Random, at_s: float, costs: dict[str, float]) -> Sent:
    kind = draw.choice((FILE, FILE, FOLDER_OF_PICTURES))
    size = draw.choice(FILE_S if kind == FILE else PICTURES)
    return Sent(at_s, kind, size, draw.randrange(2**16), size * costs[kind])
