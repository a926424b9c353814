"""What the decoder is told before it hears anything. Pure; called by the engine and its fake.

A prompt in; its last tokens out, as many as Whisper has room for, and a warning when that is not all of it.
"""

from collections.abc import Callable

from services.common.types import Encoding, RecognizeConfig, Warned

TEXT_POSITIONS = 448
PROMPT_TOKENS = TEXT_POSITIONS // 2 - 1  # as Whisper has it: the other half is for what is said
# Of a live call's own words. As many as most have: passes run together only when what was said before has one length.
CONTEXT_TOKENS = 24
# More than fits however it is spelled, so that a megabyte of prompt costs no more than a page.
MOST_CHARACTERS = 16_000


def prompt_tokens(
    config: RecognizeConfig, spelled: Callable[[str], tuple[int, ...]]
) -> tuple[tuple[int, ...], Warned | None]:
    """Return the tokens of a call's prompt; ``spelled`` gives those of running text. The end of a long one counts."""
    text = " ".join(config.prompt[-MOST_CHARACTERS:].split())
    tokens = spelled(text) if text else ()
    room = PROMPT_TOKENS if config.encoding is Encoding.FILE else PROMPT_TOKENS - CONTEXT_TOKENS
    if len(tokens) <= room and len(config.prompt) <= MOST_CHARACTERS:
        return tokens, None
    cut = Warned(
        "prompt_truncated", f"the model has room for {room} tokens of prompt: only the end of this one is used"
    )
    return tokens[-room:], cut
