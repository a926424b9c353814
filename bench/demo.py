"""``attune bench demo``: streams the example talk in real time and counts the phrases matched with what they are about.

Comes from the command line with a running server; returns figures for report.py.
"""

import asyncio
from collections.abc import Mapping, Sequence
from statistics import mean

from bench.matches import Verdict, heard, judged
from bench.measure import Target, word_error_rate
from bench.recording import Recording, record
from bench.report import Bar
from bench.tour import Box, Phrase, Tour, read_tour

BARS = (
    Bar("phrases", ">=", 6),
    Bar("frame_correct", "=", above="phrases"),
    Bar("region_correct", "=", above="phrases"),
    Bar("wer", "<=", 0.10),
)


async def run(target: Target) -> dict[str, float | None]:
    """Return how many phrases about a picture were aligned, and how many of them with the right picture and region."""
    tour = await asyncio.to_thread(read_tour)
    recording = await record(target.url, tour.pcm, tour.pictures)
    return figures(tour, recording)


def figures(tour: Tour, recording: Recording) -> dict[str, float | None]:
    """Return the figures of a recorded session."""
    candidates = heard(recording.final_alignments, recording.words, _files(tour, recording))
    verdicts = [(phrase, judged(phrase, _others(phrase, tour.phrases), candidates)) for phrase in tour.phrases]
    shown = [verdict for phrase, verdict in verdicts if phrase.file and verdict.matched]
    about_nothing = [verdict for phrase, verdict in verdicts if phrase.file is None]
    return {
        "phrases": len(shown),
        "phrases_spoken": sum(phrase.file is not None for phrase in tour.phrases),
        "frame_correct": sum(verdict.frame_correct for verdict in shown),
        "region_correct": sum(verdict.region_correct for verdict in shown),
        **_region_shares(shown),
        "none_phrases": len(about_nothing),
        "none_correct": sum(verdict.frame_correct for verdict in about_nothing),
        "wer": word_error_rate(tour.transcript, recording.text),
    }


def _region_shares(verdicts: Sequence[Verdict]) -> dict[str, float | None]:
    inside = [verdict.region_inside for verdict in verdicts if verdict.region_inside is not None]
    iou = [verdict.region_iou for verdict in verdicts if verdict.region_iou is not None]
    return {
        "region_inside_mean": round(mean(inside), 3) if inside else None,
        "region_iou_mean": round(mean(iou), 3) if iou else None,
    }


def _files(tour: Tour, recording: Recording) -> Mapping[str, str]:
    """Return which file each frame was; the time it was stamped with says so."""
    by_time = {picture.pts_us: picture.file for picture in tour.pictures}
    return {frame.id: by_time[frame.pts_us] for frame in recording.frames}


def _others(phrase: Phrase, phrases: Sequence[Phrase]) -> list[Box]:
    return [other.box for other in phrases if other.box and other.file == phrase.file and other != phrase]
