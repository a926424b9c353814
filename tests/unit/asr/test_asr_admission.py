"""Who may come in: the rule alone, and the rule before a simulated set of workers."""

import heapq
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services.asr.admission import LATEST_RETRY_S, WINDOW_S, Admission, AdmissionRules, Round
from services.common.errors import Overloaded

RULES = AdmissionRules(max_lag_s=2.0, workers=2, max_live=100, max_files=2, interval_s=0.5, cost_s=0.1)


class Machine:
    """Live calls in a closed circle before workers: gather speech, wait for a worker, be heard; all simulated."""

    def __init__(self, rules, cost_s):
        self.admission = Admission(rules)
        self.cost_s = cost_s
        self.free_at = [0.0] * rules.workers
        self.calls = []  # when the call asks for its next pass, its number, its seat, the interval before
        self.lags = []

    def come(self, now):
        seat = self.admission.admit(now, live=True)
        interval_s = self.admission.rules.interval_s
        heapq.heappush(self.calls, (now + interval_s, len(self.calls), seat, interval_s))

    def run(self, until):
        while self.calls and self.calls[0][0] <= until:
            asks_at, number, seat, interval_s = heapq.heappop(self.calls)
            done_at = max(asks_at, heapq.heappop(self.free_at)) + self.cost_s
            heapq.heappush(self.free_at, done_at)
            own_s = done_at - asks_at
            self.lags.append(interval_s + own_s)
            self.admission.measured(seat, Round(interval_s + own_s, self.cost_s), done_at)
            next_s = max(self.admission.rules.interval_s, self.admission.rules.busy_share * own_s)
            heapq.heappush(self.calls, (done_at + next_s, number, seat, next_s))

    def p95_s(self, count):
        lags = sorted(self.lags[-count:])
        return lags[int(len(lags) * 0.95)]


def filled(rules, cost_s, every_s):
    machine, now = Machine(rules, cost_s), 0.0
    with pytest.raises(Overloaded) as refused:
        while True:
            machine.run(now)
            machine.come(now)
            now += every_s
    return machine, now, refused.value


@settings(deadline=None, max_examples=40)
@given(cost_s=st.floats(0.03, 0.15), workers=st.integers(1, 4), every_s=st.sampled_from([0.0, 0.05, 1.0, 5.0, 30.0]))
def test_the_lag_stays_under_its_limit_however_fast_callers_come(cost_s: float, workers: int, every_s: float):
    """Everybody who was let in speaks on and on, and the slowest rounds in twenty still keep the limit."""
    rules = AdmissionRules(2.0, workers, 1000, 1, 0.5, cost_s, 2.5)
    machine, now, _ = filled(rules, cost_s, every_s)
    machine.run(now + 60)
    assert machine.p95_s(50 * machine.admission.live) <= 2.0


@settings(deadline=None, max_examples=20)
@given(cost_s=st.floats(0.05, 0.2), workers=st.integers(1, 4))
def test_room_is_not_given_away(cost_s: float, workers: int):
    """When callers come one by one, half as many more as were let in would break the limit."""
    machine, now, _ = filled(AdmissionRules(2.0, workers, 1000, 1, 0.5, cost_s, 2.5), cost_s, 30.0)
    machine.admission = replace(machine.admission, rules=replace(machine.admission.rules, max_lag_s=1000.0))
    for _ in range(machine.admission.live // 2 + 1):
        machine.come(now)
    machine.run(now + 120)
    assert machine.p95_s(50 * machine.admission.live) > 2.0


def test_a_rush_may_come_back_once_it_was_measured():
    """Those refused because others have only just come are told to wait for the measurement, not for an end."""
    admission = Admission(RULES)
    for _ in range(18):
        admission.admit(0.0, live=True)
    with pytest.raises(Overloaded) as refused:
        admission.admit(1000.0, live=True)
    assert refused.value.retry_after_s == WINDOW_S


def test_cold_callers_are_counted_by_the_cost_of_the_warm_up():
    """Before anybody has been heard, a rush is admitted only as far as the first cost says."""
    admission = Admission(RULES)
    with pytest.raises(Overloaded):
        for _ in range(1000):
            admission.admit(0.0, live=True)
    # 0.05 s of work for each, and rounds 1.8 times as long
    assert admission.live == 18


def test_the_first_caller_is_always_admitted():
    """A pass that is slower than the limit keeps everybody else out, not the one who delays nobody."""
    admission = Admission(AdmissionRules(1.0, 1, 10, 1, 0.5, 3.0))
    admission.admit(0.0, live=True)
    with pytest.raises(Overloaded):
        admission.admit(0.0, live=True)


def test_a_session_that_continues_is_not_refused_for_the_lag():
    """Those who were let in before a loss come back, all of them; only the cap holds."""
    admission = Admission(AdmissionRules(1.0, 1, 3, 1, 0.5, 3.0))
    for _ in range(3):
        admission.admit(0.0, live=True, continues=True)
    with pytest.raises(Overloaded):
        admission.admit(0.0, live=True, continues=True)


def test_files_have_seats_of_their_own():
    """Files neither take the seats of live sessions nor are refused for their lag."""
    admission = Admission(AdmissionRules(1.0, 1, 1, 2, 0.5, 3.0))
    admission.admit(0.0, live=True)
    admission.admit(0.0, live=False)
    admission.admit(0.0, live=False)
    with pytest.raises(Overloaded, match="2 files"):
        admission.admit(0.0, live=False)


def test_old_measurements_are_forgotten():
    """A lag of before does not keep anybody out later."""
    admission = Admission(RULES)
    seat = admission.admit(0.0, live=True)
    admission.measured(seat, Round(9.0, 0.1), 1.0)
    with pytest.raises(Overloaded):
        admission.admit(2.0, live=True)
    admission.admit(1.0 + WINDOW_S + 0.1, live=True)


def test_the_load_of_those_who_left_keeps_nobody_out():
    """Right after ten calls that lagged have ended, as many come in at once as before anybody had come."""
    admission = Admission(RULES)
    crowd = [admission.admit(0.0, live=True) for _ in range(10)]
    for seat in crowd:
        admission.measured(seat, Round(1.6, 0.1), 1.0)
    for seat in crowd:
        admission.leave(seat, 1.0)
    for _ in range(10):
        admission.admit(1.1, live=True)


def test_the_load_of_those_who_stay_counts():
    """One of ten calls that lag has left: that is room for one at most."""
    admission = Admission(RULES)
    crowd = [admission.admit(0.0, live=True) for _ in range(10)]
    for seat in crowd:
        admission.measured(seat, Round(1.6, 0.1), 1.0)
    admission.leave(crowd[0], 1.0)
    with pytest.raises(Overloaded):
        for _ in range(2):
            admission.admit(1.1, live=True)


def test_the_time_to_come_back_is_what_calls_take():
    """With ten calls that last 100 s each, one leaves every ten seconds."""
    admission = Admission(AdmissionRules(60.0, 2, 10, 1))
    for seat in [admission.admit(0.0, live=True) for _ in range(10)]:
        admission.leave(seat, 100.0)
    for _ in range(10):
        admission.admit(100.0, live=True)
    with pytest.raises(Overloaded) as refused:
        admission.admit(100.0, live=True)
    assert refused.value.retry_after_s == pytest.approx(10.0)


@given(st.lists(st.floats(0, 1e5), min_size=1, max_size=20), st.floats(0, 1e5))
def test_the_time_to_come_back_is_bounded(lengths: list[float], more_s: float):
    """However long calls last, it is 1 to 300 s."""
    admission = Admission(AdmissionRules(60.0, 2, 1, 1))
    for length_s in lengths:
        admission.leave(admission.admit(0.0, live=True), length_s)
    admission.admit(0.0, live=True)
    with pytest.raises(Overloaded) as refused:
        admission.admit(more_s, live=True)
    assert refused.value.retry_after_s is not None
    assert 1.0 <= refused.value.retry_after_s <= LATEST_RETRY_S
