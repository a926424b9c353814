"""The parts of the service's benchmark that need no server."""

from itertools import pairwise

import numpy as np

from bench import deaths
from bench.ageing import WORD, size_of
from bench.ageing import _words as words_of
from bench.hop import BODY, figures, form, tiny_picture
from bench.service import BARS, RIVAL_BARS, ServiceRun


def test_the_requests_are_of_one_size():
    """Ours carries a whole picture and weighs what the plain servers are sent."""
    assert len(form()) == len(BODY)
    assert tiny_picture() in form()


def test_the_way_is_compared_with_both_plain_servers_together():
    """Ratios are of medians; a rival that was not measured has none."""
    times = {"gateway": [3.0, 4.0, 50.0], "fastapi": [1.0], "grpc_aio": [1.0, 1.0, 9.0]}
    found = figures(times)
    assert found["gateway_over_plain"] == 2.0
    assert found["gateway_over_ray_grpc"] is None
    assert figures({**times, "ray_grpc": [8.0]})["gateway_over_ray_grpc"] == 0.5


def test_a_size_has_everything_that_only_the_object_leads_to():
    """Arrays count with their data, views with what they keep alive, shared things once."""

    class Holder:
        def __init__(self) -> None:
            self.view = np.zeros(100_000, np.float32)[:10]
            self.same = self.view
            self.text = "x" * 50_000

    small, large = size_of(object()), size_of(Holder())
    assert small < 100
    assert 450_000 <= large < 460_000


def test_made_up_words_agree_with_themselves():
    """A later pass hears the same word in the same place, so that words are committed as in real speech."""
    first, second = words_of(0, 0, 10 * WORD), words_of(4 * WORD, 6 * WORD, 10 * WORD)
    assert first[6:] == second[:4]
    assert all(a.end <= b.start for a, b in pairwise(second))


def test_slots_are_read_from_any_metrics():
    """Labelled and unlabelled gauges count, other metrics do not."""
    text = (
        'attune_sessions 2.0\nattune_streams{method="asr.recognize"} 1.0\nattune_sessions_ended_total{reason="x"} 5.0\n'
    )
    assert deaths.SLOTS.findall(text) == [
        ("attune_sessions", "2.0"),
        ('attune_streams{method="asr.recognize"}', "1.0"),
    ]


def test_only_parts_that_are_measured_have_bars():
    """A part that was left out is not called short."""
    assert ServiceRun(["hop"]).bars == list(BARS["hop"])
    assert ServiceRun(["hop"], rivals=True).bars == [*BARS["hop"], *RIVAL_BARS]
