"""The live load profile."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.inference.profile import KEPT, LoadProfile, ProfileSettings, Ran, load_of

SETTINGS = ProfileSettings(refresh_s=0.8, io_full_s=2.0, bytes_per_s=100.0, line_bytes_per_s=10.0)


def ran(size: float = 1.0, alone_s: float = 1.0, compute_s: float = 0.5, io_wait_s: float = 0.5) -> Ran:
    return Ran(size, alone_s, compute_s, io_wait_s, moved_bytes=20.0 * alone_s, line_bytes=1.0 * alone_s)


def test_shares_are_of_all_the_time_that_runs_took():
    """Long runs count for more; the cost is seconds per unit of size over all runs."""
    load = load_of([ran(alone_s=1, compute_s=1, size=2), ran(alone_s=3, compute_s=1, size=6)], SETTINGS)
    assert load.compute == pytest.approx(0.5)
    assert load.bandwidth == pytest.approx(0.2)
    assert load.line == pytest.approx(0.1)
    assert load.s_per_unit == pytest.approx(0.5)


def test_io_is_the_p95_of_waits_not_their_mean():
    """One slow wait in 20 does not count, two do; a wait of ``io_full_s`` or more is 1."""
    waits = [0.1] * 19 + [9.0]
    assert load_of([ran(io_wait_s=wait) for wait in waits], SETTINGS).io_p95 == pytest.approx(0.05)
    assert load_of([ran(io_wait_s=wait) for wait in [*waits[1:], 9.0]], SETTINGS).io_p95 == 1.0


@given(
    st.lists(
        st.builds(Ran, *[st.floats(1e-3, 1e3)] * 2, *[st.floats(0, 1e12)] * 4),
        min_size=1,
        max_size=50,
    )
)
def test_shares_lie_between_0_and_1(runs: list[Ran]):
    """Whatever was measured, every share stays in [0, 1] and the cost above 0."""
    load = load_of(runs, SETTINGS)
    assert all(0 <= value <= 1 for value in (load.compute, load.bandwidth, load.line, load.io_p95))
    assert load.s_per_unit > 0


@given(st.lists(st.tuples(st.floats(0, 2), st.booleans()), max_size=60))
def test_what_is_read_is_never_older_than_the_refresh(steps: list[tuple[float, bool]]):
    """A run is in the profile at the first read that comes 800 ms or more after the last refresh."""
    profile, now_s = LoadProfile(SETTINGS), 0.0
    for step_s, runs in steps:
        now_s += step_s
        if runs:
            profile.observe("k", ran())
        profile.loads(now_s)
        assert now_s - profile.refreshed_s < SETTINGS.refresh_s


def test_a_change_shows_at_the_next_refresh_and_only_then():
    """Between refreshes the loads stay as they are; the version says that they have changed."""
    profile = LoadProfile(SETTINGS)
    profile.observe("k", ran(compute_s=0.2))
    assert profile.loads(0.0)["k"].compute == pytest.approx(0.2)
    for _ in range(KEPT):
        profile.observe("k", ran(compute_s=0.9))
    version = profile.version
    assert profile.loads(0.79)["k"].compute == pytest.approx(0.2)
    assert profile.version == version
    assert profile.loads(0.8)["k"].compute == pytest.approx(0.9)
    assert profile.version == version + 1


def test_a_profile_slower_than_800_ms_is_refused():
    """The bound on its age is part of the settings."""
    with pytest.raises(ValueError, match=r"0\.8"):
        ProfileSettings(refresh_s=0.81)


@pytest.mark.parametrize("bad", [ran(size=0), ran(alone_s=0)])
def test_runs_without_time_or_size_are_mistakes(bad: Ran):
    """A share of nothing cannot be told."""
    with pytest.raises(ValueError, match="above 0"):
        LoadProfile(SETTINGS).observe("k", bad)
