"""How figures and bars are shown."""

import json

import pytest

from bench.report import Bar, as_json, as_table, passed, show

BARS = (
    Bar("lag_p95_ms", "<=", 2500),
    Bar("phrases", ">=", 6),
    Bar("frame_correct", "=", above="phrases"),
    Bar("stall_ms", "<=", 20, above="control_ms"),
)
GOOD = {"lag_p95_ms": 2500.0, "phrases": 8, "frame_correct": 8, "stall_ms": 21.5, "control_ms": 1.6}


def test_figures_on_their_bars_pass() -> None:
    """A bar includes its limit, and counts from another figure where it names one."""
    assert passed(GOOD, BARS)


@pytest.mark.parametrize(
    "change", [{"lag_p95_ms": 2500.1}, {"phrases": 5}, {"frame_correct": 7}, {"stall_ms": 21.7}, {"control_ms": None}]
)
def test_one_figure_beyond_its_bar_fails(change: dict[str, float | None]) -> None:
    """One miss is enough; a figure that could not be measured is a miss."""
    assert not passed({**GOOD, **change}, BARS)


def test_json_holds_every_figure_flat_with_its_bar() -> None:
    """Programs read a figure by its name and the verdict under ``bars`` and ``ok``."""
    answer = json.loads(as_json(GOOD, BARS))
    assert {name: answer[name] for name in GOOD} == GOOD
    assert answer["ok"] is True
    assert answer["bars"]["stall_ms"] == {"bar": "≤ control_ms + 20", "ok": True}


def test_the_table_is_aligned_and_marks_each_bar() -> None:
    """Every figure has a line; a bar without a figure has one too, and is short."""
    lines = as_table({"phrases": 8, "note": 1.25}, BARS[:2]).splitlines()
    assert lines == ["phrases        8  ≥ 6     ok", "note        1.25", "lag_p95_ms     -  ≤ 2500  short"]


def test_the_exit_status_says_whether_all_bars_are_met(capsys: pytest.CaptureFixture[str]) -> None:
    """0 when all bars are met, 1 when one is not; the figures are written either way."""
    assert show(GOOD, BARS) == 0
    assert show({**GOOD, "phrases": 1}, BARS, in_json=True) == 1
    assert '"ok": false' in capsys.readouterr().out
