"""Every metric's name, in one place; wrappers and watchers increment them, never the business itself."""

from prometheus_client import Counter, Gauge, Histogram

STAGE_CALLS = Counter("attune_stage_calls", "Calls to a stage by how they ended.", ["stage", "outcome"])
STAGE_SECONDS = Histogram(
    "attune_stage_seconds",
    "Time from a call's start to its end; for live sessions that is the session's length.",
    ["stage"],
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 600, 3600),
)
SESSIONS = Gauge("attune_sessions", "Live sessions now.")
SESSIONS_ENDED = Counter("attune_sessions_ended", "Live sessions by how they ended.", ["reason"])
COMMIT_LAG_SECONDS = Histogram(
    "attune_commit_lag_seconds",
    "From a word's end in the audio to its commit, measured on the audio that has come in.",
    buckets=(0.25, 0.5, 0.75, 1, 1.5, 2, 3, 5, 8, 13, 21),
)
IMAGES = Counter("attune_images", "Live images by what became of them.", ["status"])
OUTAGES = Counter("attune_outages", "Times a live session lost a stage and opened it again.", ["stage"])
TRANSCRIPTIONS = Gauge("attune_transcriptions", "Calls that the recogniser serves now, by kind: live, file.", ["kind"])
TRANSCRIPTIONS_REFUSED = Counter("attune_transcriptions_refused", "Calls refused for want of room, by kind.", ["kind"])
LIVE_LAG_SECONDS = Gauge("attune_live_lag_seconds", "P95 of the lag of live sessions over the last ten seconds.")
STREAMS = Gauge("attune_streams", "gRPC streams that a service answers now.", ["method"])
UNDURABLE_SESSIONS = Gauge("attune_undurable_sessions", "Live sessions whose events cannot be stored right now.")
LOOP_STALL_SECONDS = Histogram(
    "attune_loop_stall_seconds",
    "How late the event loop wakes a 10 ms sleeper.",
    buckets=(0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1),
)
LOOP_STALL_P99_SECONDS = Gauge("attune_loop_stall_p99_seconds", "P99 of the same over the last minute.")
UTILISATION = Gauge(
    "attune_utilisation", "Share of the fullest capacity of a stage's device that is given out.", ["stage"]
)
BACKLOG = Gauge("attune_backlog", "Requests that wait for a stage's device.", ["stage"])
SCALE_OUT = Gauge(
    "attune_scale_out", "1 while a stage's device has been too full for three samples, else 0.", ["stage"]
)
BATCH_SIZE = Histogram(
    "attune_batch_size", "Requests in a batch that ran.", ["batcher", "lane"], buckets=(1, 2, 4, 8, 16, 24, 32, 64)
)
BATCH_WAIT_SECONDS = Histogram(
    "attune_batch_wait_seconds",
    "From a request's arrival to the start of its batch.",
    ["batcher", "lane"],
    buckets=(0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 5),
)
BATCH_PADDING_RATIO = Histogram(
    "attune_batch_padding_ratio",
    "Share of a batch's padded work that no request asked for.",
    ["batcher", "lane"],
    buckets=(0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.5, 0.75, 1),
)
BATCH_PASSTHROUGH = Counter("attune_batch_passthrough", "Lone requests that did not wait for company.", ["batcher"])
BATCH_EMPTY_WINDOWS = Gauge(
    "attune_batch_empty_window_share", "Share of windows in which a lone request met nobody.", ["batcher"]
)
BATCH_NOT_RUN = Counter(
    "attune_batch_not_run", "Requests that were never computed, by why: overloaded, deadline, left.", ["batcher", "why"]
)
BATCH_POISON = Counter("attune_batch_poison", "Requests that failed every batch they were in.", ["batcher"])
