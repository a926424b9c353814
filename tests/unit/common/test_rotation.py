"""Files that only grow."""

import os
from pathlib import Path

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor

from services.common.rotation import prune, rotate_open
from services.common.telemetry import FILES, JsonLinesExporter


def test_a_log_that_is_open_begins_anew(tmp_path: Path):
    """The writer goes on at the beginning; what was there is in one other file."""
    path = tmp_path / "x.log"
    with path.open("ab", buffering=0) as log:
        log.write(b"old" * 10)
        assert not rotate_open(path, 30)
        log.write(b"!")
        assert rotate_open(path, 30)
        log.write(b"new")
    assert path.read_bytes() == b"new"
    assert (tmp_path / "x.log.1").read_bytes() == b"old" * 10 + b"!"
    assert not rotate_open(tmp_path / "none.log", 1)


def test_the_oldest_files_go_first(tmp_path: Path):
    """What stays is the newest, and no larger than the bound."""
    for age in range(5):
        path = tmp_path / f"{age}.jsonl"
        path.write_bytes(bytes(10))
        os.utime(path, (100 - age, 100 - age))
    (tmp_path / "other.txt").write_bytes(bytes(1000))
    prune(tmp_path, "*.jsonl", 25)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0.jsonl", "1.jsonl", "other.txt"]


def test_spans_take_no_more_than_they_may(tmp_path: Path):
    """However many are written, the folder keeps its bound and the newest span is there."""
    limit = 64 * 1024
    exporter = JsonLinesExporter(tmp_path / "s-1.jsonl", limit)
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("t")
    for number in range(500):
        tracer.start_span(f"span {number}").end()
    provider.shutdown()
    files = list(tmp_path.glob("*.jsonl"))
    size = sum(path.stat().st_size for path in files)
    assert limit // 2 < size <= limit + limit // FILES
    assert any("span 499" in path.read_text() for path in files)
