"""The threads that answer. Questions that read wait for no writer; those that write queue, as do those that judge."""

import asyncio
import os
from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING, TypeVar

from kb.mcp.server import Home
from kb.settings import NO_MODEL, Settings
from kb.usecases.opened import Opened

if TYPE_CHECKING:
    from kb.usecases.knowledge_base import KnowledgeBase

Answer = TypeVar("Answer")
WRITE_WAIT_S = 120
"""For how long the first of the queue waits for another process that writes the home."""


class Lane(StrEnum):
    READ = "read"
    WRITE = "write"
    """Proposals."""
    JUDGE = "judge"
    """One judgement at a time: what else is timed would disturb it."""
    CURATE = "curate"
    """Uploads, removals and decisions; it sees private documents, whose ids they must not take."""


class Answering(Home):
    """A home that answers as many questions at once as it has threads, each with a knowledge base of its own."""

    def __init__(self, open_kb: "Callable[[], KnowledgeBase]", *, threads: int = 1, wait_s: float = 0.5) -> None:
        self._threads = [Opened(open_kb, wait_s=wait_s) for _ in range(threads)]
        self._idle: asyncio.Queue[Opened] = asyncio.Queue()
        for thread in self._threads:
            self._idle.put_nowait(thread)

    async def ask(self, question: "Callable[[KnowledgeBase], Answer]") -> Answer:
        thread = await self._idle.get()
        try:
            return await thread.ask(question)
        finally:
            self._idle.put_nowait(thread)

    def close(self) -> None:
        for thread in self._threads:
            thread.close()


def lanes(settings: Settings, notify: Callable[[str], None]) -> dict[Lane, Answering]:
    """A lane of each kind over one home, with one embedding model, which is loaded now.

    Raises:
        StoreError: the home cannot be opened.
    """
    from kb.usecases.knowledge_base import KnowledgeBase

    with KnowledgeBase(settings, notify=notify) as kb:
        embedder = kb.models.embedder
    if embedder is None:  # said once, not by each thread
        settings = settings.model_copy(update={"embedding_model": NO_MODEL})
    hidden = not settings.is_own("mcp")

    def opened(*, without_private: bool) -> "Callable[[], KnowledgeBase]":
        return lambda: KnowledgeBase(settings, notify=notify, embedder=embedder, without_private=without_private)

    public = opened(without_private=hidden)
    return {
        Lane.READ: Answering(public, threads=max(2, os.cpu_count() or 1)),
        Lane.WRITE: Answering(public, wait_s=WRITE_WAIT_S),
        Lane.JUDGE: Answering(public, wait_s=WRITE_WAIT_S),
        Lane.CURATE: Answering(opened(without_private=False), wait_s=WRITE_WAIT_S),
    }
