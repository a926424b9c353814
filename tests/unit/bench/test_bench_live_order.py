"""The plan of the live comparison, and what its figures are made of."""

import pytest

from bench.live_order import Answered, Seen, figures
from bench.live_plan import Plan, Sent, planned


def test_the_plan_is_the_same_again_and_asks_for_the_load():
    """A seed fixes it; files are added until the bursts ask for what was said, and not much more."""
    plan = planned(7, 60.0, 1.2, 2)
    assert plan == planned(7, 60.0, 1.2, 2)
    assert plan != planned(8, 60.0, 1.2, 2)
    assert 1.2 <= plan.load < 1.3
    assert [one.at_s for one in plan.sent] == sorted(one.at_s for one in plan.sent)
    files = {one.at_s for one in plan.sent if not one.live}
    assert files == {10.0, 20.0, 30.0}


@pytest.mark.parametrize("cores", [1, 8])
def test_more_cores_are_sent_more(cores: int):
    """The load is a share of the machine, whatever it has."""
    assert planned(7, 60.0, 1.2, cores).load == pytest.approx(1.2, abs=0.2)


def seen(live_s: float, file_s: float) -> Seen:
    answered = [Answered("picture", True, live_s, live_s), Answered("file", False, file_s / 2, file_s)]
    return Seen(answered, 0, 1.0, 4.0, 20.0, 2.0, 20.0)


def test_figures_are_medians_and_their_ratios():
    """Each class by its mean, the longest wait over both, idle cores over the time in which work waited."""
    plan = Plan((Sent(0.0, "picture", 1, 0, 0.1), Sent(0.0, "file", 10, 0, 0.1)), 1.2)
    runs = {"fifo": [seen(2.0, 8.0), seen(2.0, 8.0), seen(9.0, 99.0)], "embs": [seen(0.5, 6.0)] * 3}
    found = figures(plan, runs, 2)
    assert (found["fifo_live_completion_s"], found["fifo_file_completion_s"]) == (2.0, 8.0)
    assert (found["live_completion_ratio"], found["file_completion_ratio"]) == (0.25, 0.75)
    assert (found["fifo_longest_wait_s"], found["fifo_fragmentation"]) == (4.0, 0.25)
    assert (found["completion_ratio"], found["fifo_server_cpu_share"]) == (0.65, 0.5)
