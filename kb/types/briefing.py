"""What a prompt says of the hardware: questions with the facts and statements that answer them."""

from kb.types.base import Frozen, tokens_of
from kb.types.fact import Fact
from kb.types.passages import Citation


class Said(Frozen):
    """The words of a document that answer a question."""

    text: str
    citation: Citation
    mark: str = ""
    """Who states it, if it is not the vendor."""

    @property
    def tokens(self) -> int:
        return tokens_of(self.text)


class Answer(Frozen):
    """A question, and what answers it."""

    asks: str
    facts: tuple[Fact, ...] = ()
    said: tuple[Said, ...] = ()


class Briefing(Frozen):
    """The answers for one prompt, in the order of their questions."""

    answers: tuple[Answer, ...] = ()
    open: tuple[str, ...] = ()
    """The questions to which kb found no answer."""
    unconfirmed: tuple[Fact, ...] = ()
    """Facts that answer the questions in part or in whole, but that nobody accepted."""
    techniques: tuple[str, ...] = ()
    """What makes kernels for such a task fast, each with its condition and source."""
    structures: tuple[str, ...] = ()
    """Forms that kernels for the task's operations have."""


class PromptItem(Frozen):
    """An item of a prompt."""

    what: str
    why: str
    """The question that it answers, or what it is for."""
    tokens: int
