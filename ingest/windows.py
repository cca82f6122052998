"""Texts to embed for a chunk: its text in as many windows as the embedding model needs, each with a breadcrumb."""

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise

from kb.types.embedding import Tokenizer

BREADCRUMB_SHARE = 0.2
"""Largest share of the model's length for the breadcrumb; a longer one is trimmed."""


def windows(trail: Sequence[str], text: str, tokenizer: Tokenizer) -> tuple[str, ...]:
    """Return texts of at most `tokenizer.max_tokens` tokens that together hold all of `text`.

    Args:
        trail: Title and headings, outermost first; each window begins with them.
    """
    breadcrumb = _breadcrumb(trail, tokenizer)
    return tuple(_fitting(breadcrumb, text, tokenizer))


def _fitting(breadcrumb: str, text: str, tokenizer: Tokenizer) -> Iterator[str]:
    window = f"{breadcrumb}\n{text}" if breadcrumb else text
    excess = len(tokenizer.token_spans(window)) - tokenizer.max_tokens
    if excess <= 0 or len(spans := tokenizer.token_spans(text)) < 2:
        yield window
        return
    # Windows have equal length: a short last window would give a vector that says little.
    room = max(1, len(spans) - excess)
    length = math.ceil(len(spans) / math.ceil(len(spans) / room))
    cuts = [0, *(spans[i][0] for i in range(length, len(spans), length)), len(text)]
    for start, end in pairwise(cuts):
        # Some tokenizers need more tokens for a part alone than within the whole: such a part is cut again.
        if part := text[start:end].strip():
            yield from _fitting(breadcrumb, part, tokenizer)


def _breadcrumb(trail: Sequence[str], tokenizer: Tokenizer) -> str:
    """Join title and headings; if too long, drop headings from the middle, then cut the front of the rest."""
    parts = list(dict.fromkeys(trail))
    limit = int(tokenizer.max_tokens * BREADCRUMB_SHARE)
    while len(parts) > 2 and len(tokenizer.token_spans(" > ".join(parts))) > limit:
        del parts[len(parts) // 2]
    text = " > ".join(parts)
    spans = tokenizer.token_spans(text)
    return text if len(spans) <= limit else text[spans[-limit][0] :] if limit else ""
