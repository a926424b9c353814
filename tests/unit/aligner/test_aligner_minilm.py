"""The scorer with the real weights."""

from collections.abc import AsyncIterator, Iterator

import numpy as np
import pytest
import torch
from aligner_inputs import answers, frame, posterior, tokens, words
from hypothesis import given
from hypothesis import strategies as st

from services.aligner.engine import PhraseAligner
from services.aligner.models.conse_minilm import ConseMiniLMScorer
from services.aligner.models.minilm import MiniLM, run_means
from services.aligner.reading import batch_settings
from services.aligner.settings import AlignerSettings
from services.common.ports import Aligner
from services.common.types import AlignConfig, Alignment, RegionTokens, Relation
from services.inference.batching import Batcher
from services.inference.worker import Workers


@pytest.fixture(scope="module")
def scorer() -> Iterator[ConseMiniLMScorer]:
    """Return the scorer on the CPU."""
    yield ConseMiniLMScorer(torch.device("cpu"), 4096)


@pytest.fixture
async def aligner(scorer: ConseMiniLMScorer) -> AsyncIterator[Aligner]:
    """Return an aligner with real weights."""
    async with Workers("aligner", 1, 8) as workers, Batcher("read", batch_settings(1, 8), scorer.read) as batcher:
        yield PhraseAligner(scorer, batcher, workers, AlignerSettings())


def one(events: list[object]) -> Alignment:
    (event,) = events
    assert isinstance(event, Alignment)
    return event


SHOWN = (frame("h", 0, "hammer"), frame("d", 4, "drum"), frame("f", 8, "red fox"))


@pytest.mark.parametrize(
    ("text", "start_s", "frame_id", "relation"),
    [
        ("here you can see a fox", 9, "f", Relation.DURING),
        ("back to the hammer for a moment", 28, "h", Relation.NEAREST_BEFORE),
        ("so that is what the boys in the band were beating on their drums", 20, "d", Relation.NEAREST_BEFORE),
        ("next we talk about the budget", 9, None, Relation.NONE),
        ("last year we also saw a shopping cart", 9, None, Relation.NONE),
    ],
)
async def test_phrases_find_their_frame(
    aligner: Aligner, text: str, start_s: float, frame_id: str | None, relation: Relation
) -> None:
    """A phrase finds what it names, also when shown 20 s before, and nothing when it names nothing shown."""
    alignment = one(await answers(aligner, AlignConfig(), *SHOWN, words(text, start_s)))
    assert (alignment.frame_id, alignment.relation) == (frame_id, relation)


async def test_a_phrase_points_to_its_half(aligner: Aligner) -> None:
    """On a frame of two subjects the region is the half of the one that is named."""
    both = frame("c", 0, "cello", "lemon")
    upper = one(await answers(aligner, AlignConfig(), both, words("listen to the cello", 1)))
    lower = one(await answers(aligner, AlignConfig(), both, words("this lemon is very sour", 1)))
    assert upper.regions[0].box.y1 <= 0.6
    assert lower.regions[0].box.y0 >= 0.4


async def test_of_two_alike_the_one_on_show_is_meant(aligner: Aligner) -> None:
    """When two frames show the same, time decides."""
    shown = (frame("old", 0, "hammer"), frame("new", 8, "hammer"))
    assert one(await answers(aligner, AlignConfig(), *shown, words("a hammer", 9))).frame_id == "new"


def test_scores_lie_between_0_and_1(scorer: ConseMiniLMScorer) -> None:
    """Certainty scores 1, impossibility 0, for whole frames and for cells."""
    sure, never = np.zeros(1000, np.float16), np.zeros(1000, np.float16)
    sure[:] = 1
    (reading,) = scorer.read(["a hammer"])
    views = [scorer.view(_uniform(values)) for values in (sure, never)]
    assert scorer.semantic(reading, views) == pytest.approx([1, 0])
    assert scorer.heat(reading, views[0]) == pytest.approx(np.ones((2, 2)))


def test_no_frames_give_no_scores(scorer: ConseMiniLMScorer) -> None:
    """Before the first frame there is nothing to score."""
    assert scorer.semantic(*scorer.read(["a hammer"]), []) == []


@pytest.mark.parametrize("text", ["", " ", "…", "\u0000", "🙂", "word " * 300])
def test_any_text_can_be_read(scorer: ConseMiniLMScorer, text: str) -> None:
    """Texts without words and longer ones than the encoder takes are read; the weights sum to 1."""
    assert float(scorer.read([text])[0].weights.sum()) == pytest.approx(1, abs=1e-4)


def test_phrases_read_together_are_read_as_alone(scorer: ConseMiniLMScorer) -> None:
    """Whatever stands beside it, and however long that is, a phrase has its own weights."""
    texts = ["a hammer", "", "here you can see a red fox on the left", "[PAD] drums", "word " * 300, "a drum"]
    for text, together in zip(texts, scorer.read(texts), strict=True):
        (alone,) = scorer.read([text])
        assert torch.allclose(together.weights, alone.weights, atol=1e-5)


def test_sentences_do_not_depend_on_their_neighbours() -> None:
    """A text has the same vector alone and in a batch, of length 1."""
    encoder = MiniLM(torch.device("cpu"))
    with torch.inference_mode():
        batch = encoder.sentences(["a cat", "a much longer sentence about a dog", "a kitten", "a hat"])
        alone = encoder.sentences(["a cat"])
    assert torch.allclose(batch[:1], alone, atol=1e-5)
    assert torch.allclose(batch.norm(dim=-1), torch.ones(4), atol=1e-5)
    assert float(batch[0] @ batch[2]) > float(batch[0] @ batch[3])


def test_tokens_are_counted_without_marks() -> None:
    """A word in the vocabulary is one token, punctuation one more."""
    encoder = MiniLM(torch.device("cpu"))
    assert (encoder.count_tokens("hammer"), encoder.count_tokens("hammer."), encoder.count_tokens("")) == (1, 2, 0)


@given(st.lists(st.integers(1, 3), max_size=12), st.integers(1, 4))
def test_runs_average_whole_words(lengths: list[int], max_words: int) -> None:
    """There is one row for each run of up to n words; it weighs the tokens of its words alike and no others."""
    word_ids = [None, *[word for word, length in enumerate(lengths) for _ in range(length)], None]
    means = run_means(word_ids, max_words)
    count = len(lengths)
    assert means.sum(1) == pytest.approx(np.ones(len(means)), abs=1e-5)
    assert len(means) == (sum(count - n + 1 for n in range(1, min(max_words, count) + 1)) or 1)
    if count:
        assert not means[:, [0, -1]].any()


def test_a_posterior_between_classes_counts_for_both(scorer: ConseMiniLMScorer) -> None:
    """A frame that is half a cello and half a lemon fits a phrase about either better than an empty one."""
    both, nothing = scorer.view(tokens([["cello", "lemon"]])), scorer.view(_uniform(posterior()))
    for text in ("a cello", "a lemon"):
        fits, chance = scorer.semantic(*scorer.read([text]), [both, nothing])
        assert fits > 0.7
        assert chance < 0.2


def _uniform(values: np.ndarray) -> RegionTokens:
    return RegionTokens("imagenet-1k", 2, 2, 1000, np.tile(values, 4).tobytes(), values.tobytes())
