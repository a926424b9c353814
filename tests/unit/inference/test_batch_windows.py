"""Learning whether waiting brings company, and which sizes are usual."""

import math

from hypothesis import given
from hypothesis import strategies as st

from services.inference.sizes import REMEMBERED, Sizes
from services.inference.windows import Windows


def test_requests_that_stay_alone_pass_and_company_makes_them_wait_again():
    """Windows in which others come lower the empty share below a half; quiet ones raise it again."""
    windows = Windows()
    for second in range(40):
        windows.arrived(float(second), 0.01)
        windows.arrived(second + 0.005, None)
    assert not windows.passing
    for second in range(40, 80):
        windows.arrived(float(second), 0.01)
    assert windows.passing


@given(st.lists(st.tuples(st.floats(0, 10), st.none() | st.floats(0, 0.01)), max_size=50))
def test_the_share_is_a_share(arrivals: list[tuple[float, float | None]]):
    """Whatever arrives, the share of empty windows lies between 0 and 1."""
    windows = Windows()
    for now, opens_for in sorted(arrivals, key=lambda arrival: arrival[0]):
        windows.arrived(now, opens_for)
        assert 0 <= windows.empty_share <= 1


def test_nothing_is_long_before_sizes_are_known():
    """The first requests set the measure, so none of them is long."""
    assert Sizes().lower_quartile == math.inf


@given(st.lists(st.floats(1, 100), min_size=8, max_size=3 * REMEMBERED))
def test_the_lower_quartile_is_that_of_the_last_sizes(sizes: list[float]):
    """A quarter of the remembered sizes lies at or below it, as sorting them anew says."""
    seen = Sizes()
    for size in sizes:
        seen.add(size)
    recent = sorted(sizes[-REMEMBERED:])
    assert seen.lower_quartile == recent[len(recent) // 4]
