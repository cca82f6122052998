"""What all nouns share, and the length of a text in tokens."""

from pydantic import BaseModel, ConfigDict

TOKEN_CHARACTERS = 4
"""Characters per token wherever a budget is given in tokens: budgets are for models whose tokenizer kb
does not have, and four is the usual rule for English technical text."""


def tokens_of(text: str) -> int:
    """Length of `text` in tokens, rounded up."""
    return -(-len(text) // TOKEN_CHARACTERS)


class Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)
