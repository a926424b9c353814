"""The answer for one image."""

import numpy as np
import structlog

from services.common.errors import INTERNAL_TEXT, TooLarge
from services.common.types import FailedFrame, Image, ImageReport
from services.vision.frame import Features, failed_frame, frame_of, top_labels

NAMES = tuple("abcdefg")


def features():
    cells = np.zeros((2, 3, 7), np.float16)
    cells[:, :, 4] = 0.75
    pooled = np.array([0.1, 0.2, 0, 0.3, 0.35, 0.05, 0], np.float16)
    return Features(cells, pooled, np.array([1.5, -2.0], np.float32), device_us=12)


def test_labels_are_the_five_best_of_the_whole_image():
    """Names come with their probabilities, the best first."""
    labels = top_labels(features().pooled, NAMES)
    assert [label.text for label in labels] == list("edbaf")
    assert abs(labels[0].score - 0.35) < 1e-3


def test_tokens_hold_the_probabilities_row_by_row():
    """Cells and pooled map can be read back as float16 arrays."""
    report = ImageReport("PNG", 96, 64)
    frame = frame_of(Image("one", 7, b""), report, features(), NAMES)
    tokens = frame.tokens
    assert (frame.id, frame.pts_us, frame.report, frame.embedding) == ("one", 7, report, (1.5, -2.0))
    assert (tokens.space, tokens.rows, tokens.cols, tokens.dim) == ("imagenet-1k", 2, 3, 7)
    assert np.array_equal(np.frombuffer(tokens.cells, np.float16).reshape(2, 3, 7), features().cells)
    assert np.array_equal(np.frombuffer(tokens.pooled, np.float16), features().pooled)
    assert frame.timing.device_us == 12


def test_regions_are_labelled_by_their_own_cells():
    """A region's labels are not those of the whole image."""
    (region,) = frame_of(Image("one", 0, b""), ImageReport("PNG", 96, 64), features(), NAMES).regions
    assert (region.labels[0].text, region.labels[0].score) == ("e", 0.75)


def test_a_refusal_is_shown_as_it_is():
    """Errors of the table keep their code and text, and are not logged."""
    with structlog.testing.capture_logs() as logs:
        assert failed_frame("one", TooLarge("9 pixels too many")) == FailedFrame(
            "one", "too_large", "9 pixels too many"
        )
    assert logs == []


def test_our_own_fault_is_logged_and_shown_as_a_fixed_text():
    """Nothing of the inside gets out."""
    with structlog.testing.capture_logs() as logs:
        assert failed_frame("one", KeyError("secret")) == FailedFrame("one", "internal", INTERNAL_TEXT)
    assert [(log["event"], log["image_id"]) for log in logs] == [("image_failed", "one")]
