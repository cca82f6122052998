"""The seams between the packages: what one may ask of another without importing it."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from kb.model.base import Frozen
from kb.model.evidence import Evidence
from kb.model.fact import Fact
from kb.model.kernels import Candidate, Interface, Language, Task
from kb.model.passages import Passage
from kb.model.skill import Skill

Vectors = NDArray[np.float32]
"""Shape (texts, dimensions); every row has length 1, so a dot product is a cosine."""


class Embedder(Protocol):
    """Turns text into unit vectors. Documents and queries may be embedded differently."""

    @property
    def fingerprint(self) -> str:
        """Names weights, backend and precision; vectors of two fingerprints are never compared."""

    @property
    def max_tokens(self) -> int:
        """Longest document text in tokens, prompt and special tokens already taken off."""

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        """Character span (start, end) of each token of `text`, in order; special tokens left out."""

    def embed_documents(self, texts: Sequence[str]) -> Vectors: ...

    def embed_queries(self, texts: Sequence[str]) -> Vectors: ...


class Attempt(Frozen):
    """A candidate that was proposed and judged in this run."""

    candidate: Candidate
    evidence: Evidence
    note: str = ""
    """What the synthesizer said it does."""


class Request(Frozen):
    """All that a synthesizer may know when it proposes the next candidate."""

    task: Task
    interface: Interface
    target: str
    language: Language
    facts: tuple[Fact, ...] = ()
    passages: tuple[Passage, ...] = ()
    """Best first."""
    skills: tuple[Skill, ...] = ()
    """Best first."""
    attempts: tuple[Attempt, ...] = ()
    """In the order they were made."""
    budget_tokens: int = Field(default=16_000, gt=0)
    """Of the prompt."""
    seed: int = 0


class Proposal(Frozen):
    """What a synthesizer answers."""

    candidate: Candidate
    note: str = ""
    """One line: what it is, or what it changes."""
    skills_used: tuple[str, ...] = ()
    usage: dict[str, int] = Field(default_factory=dict)
    """Tokens paid for, by kind."""


class Synthesizer(Protocol):
    """Proposes candidates. It never judges one."""

    name: str

    def propose(self, request: Request) -> Proposal | None:
        """The next candidate; None when there is nothing left to try.

        Raises:
            SynthesisError: nothing usable came, and trying again at once would not help.
        """


class Judge(Protocol):
    """Decides on candidates for one task and target."""

    interface: Interface
    """Of the task."""

    def verify(self, candidate: Candidate) -> Evidence:
        """Raises JudgeError when the judge, not the candidate, is at fault."""
