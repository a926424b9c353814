"""Figures in, one table or one JSON object out, each figure with its bar; says whether all bars are met.

Called by the command line with what a benchmark's ``run`` returned and the bars of its module.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

Figures: TypeAlias = Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class Bar:
    """What a figure must reach: at most, at least or exactly ``limit``, counted from the figure ``above`` if given."""

    figure: str
    sense: Literal["<=", ">=", "="]
    limit: float = 0
    above: str | None = None

    def met(self, figures: Figures) -> bool:
        """Return whether the figure reaches its bar; a figure that could not be measured does not."""
        value = figures.get(self.figure)
        base = 0.0 if self.above is None else figures.get(self.above)
        if value is None or base is None:
            return False
        bound = base + self.limit
        return {"<=": value <= bound, ">=": value >= bound, "=": value == bound}[self.sense]

    def __str__(self) -> str:
        sense = {"<=": "≤", ">=": "≥", "=": "="}[self.sense]
        if self.above is None:
            return f"{sense} {self.limit:g}"
        return f"{sense} {self.above}" + (f" + {self.limit:g}" if self.limit else "")


def passed(figures: Figures, bars: Sequence[Bar]) -> bool:
    """Return whether every bar is met."""
    return all(bar.met(figures) for bar in bars)


def as_json(figures: Figures, bars: Sequence[Bar]) -> str:
    """Return the figures as one JSON object, with ``bars`` and ``ok`` beside them."""
    marks = {bar.figure: {"bar": str(bar), "ok": bar.met(figures)} for bar in bars}
    return json.dumps({**figures, "bars": marks, "ok": passed(figures, bars)}, indent=2, ensure_ascii=False)


def as_table(figures: Figures, bars: Sequence[Bar]) -> str:
    """Return one aligned line per figure: its name, its value, its bar and whether the bar is met."""
    by_figure = {bar.figure: bar for bar in bars}
    rows = [_row(name, figures, by_figure.get(name)) for name in [*figures, *_unmeasured(figures, bars)]]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    return "\n".join(
        f"{name:<{widths[0]}}  {value:>{widths[1]}}  {bar:<{widths[2]}}  {mark}".rstrip()
        for name, value, bar, mark in rows
    )


def _unmeasured(figures: Figures, bars: Sequence[Bar]) -> list[str]:
    return [bar.figure for bar in bars if bar.figure not in figures]


def _row(name: str, figures: Figures, bar: Bar | None) -> tuple[str, str, str, str]:
    value = figures.get(name)
    shown = "-" if value is None else f"{value:g}"
    if bar is None:
        return name, shown, "", ""
    return name, shown, str(bar), "ok" if bar.met(figures) else "short"


def show(figures: Figures, bars: Sequence[Bar], *, in_json: bool = False) -> int:
    """Write the figures to standard output; return the exit status: 0 when every bar is met, else 1."""
    sys.stdout.write((as_json if in_json else as_table)(figures, bars) + "\n")
    return 0 if passed(figures, bars) else 1
