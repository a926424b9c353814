"""Traces and logs of one process: spans go to OTLP or to JSON lines, logs to stderr as JSON with the ids of both.

Set up once in each entry point. Span records are flat, one JSON object a line.
"""

import json
import logging
import os
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import structlog
from opentelemetry import trace
from opentelemetry.sdk.resources import SERVICE_NAME, Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from services.common.errors import shown
from services.common.rotation import prune
from services.common.settings import ProcessSettings

EXPORT_EVERY_MS = 500
FILES = 16  # a file of spans is full at this share of what all may take


class JsonLinesExporter(SpanExporter):
    """Appends finished spans to one file per process; a file that is full is set aside.

    All files of the folder together take ``max_bytes``: whoever begins a file removes the oldest.
    """

    def __init__(self, path: Path, max_bytes: int = 2**30) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._path = path
        self._max_bytes = max_bytes
        self._begin()

    def _begin(self) -> None:
        # Room for this file too, so that it can grow.
        prune(self._path.parent, "*.jsonl", self._max_bytes - self._max_bytes // FILES)
        self._file = self._path.open("a", encoding="utf-8")

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Write one line a span; called from the processor's own thread."""
        self._file.writelines(json.dumps(flat_record(span)) + "\n" for span in spans)
        self._file.flush()
        if self._file.tell() > self._max_bytes // FILES:
            self._file.close()
            with suppress(FileNotFoundError):  # another process has removed it
                self._path.replace(self._path.with_suffix(f".{time.time_ns()}.jsonl"))
            self._begin()
        return SpanExportResult.SUCCESS

    def shutdown(self) -> None:
        """Close the file."""
        self._file.close()


def flat_record(span: ReadableSpan) -> dict[str, Any]:
    """Return a span as one flat object: ids in hex, times in Unix nanoseconds, the service beside them."""
    context = span.get_span_context()
    assert context is not None
    return {
        "trace_id": trace.format_trace_id(context.trace_id),
        "span_id": trace.format_span_id(context.span_id),
        "parent_span_id": trace.format_span_id(span.parent.span_id) if span.parent else None,
        "name": span.name,
        "start_time_unix_nano": span.start_time,
        "end_time_unix_nano": span.end_time,
        "status_code": span.status.status_code.name,
        "service_name": span.resource.attributes.get(SERVICE_NAME),
        "attributes": dict(span.attributes or {}),
    }


@contextmanager
def telemetry(service: str, settings: ProcessSettings) -> Generator[None, None, None]:
    """Set up spans and logs for this process; spans are written out when the body ends.

    ``OTEL_EXPORTER_OTLP_ENDPOINT`` decides: set, spans go there; else to ``<trace_dir>/<service>-<pid>.jsonl``.
    """
    set_up_logs(settings.log_level)
    provider = TracerProvider(resource=Resource.create({SERVICE_NAME: service}))
    provider.add_span_processor(BatchSpanProcessor(_exporter(service, settings), schedule_delay_millis=EXPORT_EVERY_MS))
    trace.set_tracer_provider(provider)
    try:
        yield
    finally:
        provider.shutdown()


def _exporter(service: str, settings: ProcessSettings) -> SpanExporter:
    if os.environ.get("OTEL_EXPORTER_OTLP_ENDPOINT"):
        from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter

        return OTLPSpanExporter()
    return JsonLinesExporter(settings.trace_dir / f"{service}-{os.getpid()}.jsonl", settings.trace_bytes)


def set_up_logs(level: str) -> None:
    """Send structlog and the standard library's records to stderr, one JSON object a line."""
    shared: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        add_trace_id,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
    ]
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.JSONRenderer(),
            ],
        )
    )
    logging.basicConfig(level=level, handlers=[handler], force=True)


def add_trace_id(_logger: Any, _method: str, event: Any) -> Any:
    """Add the current span's ids to a log event."""
    context = trace.get_current_span().get_span_context()
    if context.is_valid:
        event["trace_id"] = trace.format_trace_id(context.trace_id)
        event["span_id"] = trace.format_span_id(context.span_id)
    return event


def set_outcome(span: trace.Span, error: BaseException) -> None:
    """Mark a span with how it ended: our faults are errors, refusals name their code, hang-ups are neither."""
    if not isinstance(error, Exception):
        span.set_attribute("cancelled", True)
        return
    seen = shown(error)
    span.set_attribute("error_code", seen.code)
    if seen.http >= 500:
        span.set_status(trace.StatusCode.ERROR, seen.code)
