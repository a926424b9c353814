"""Words as tests need them."""

from services.asr.words import HeardWord


def heard(text, start=0, end=None, tokens=(1,), confidence=0.9):
    """Return one word; a second long where nothing else is said."""
    return HeardWord(text, tokens, start, start + 16_000 if end is None else end, confidence)


def sentence(text, pace=4_000, start=0):
    """Return the words of a text, evenly spaced."""
    return [heard(word, start + i * pace, start + (i + 1) * pace, (i,)) for i, word in enumerate(text.split())]


def answered(work, model):
    """Return what ``work`` returns when ``model`` hears each pass it asks for."""
    try:
        wanted = next(work)
        while True:
            wanted = work.send(model.hear(wanted.speech, wanted.prompt, wanted.frames))
    except StopIteration as end:
        return end.value
