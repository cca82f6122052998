"""The threads that answer. Questions that read wait for no writer; those that write queue, as do those that judge."""

import asyncio
import os
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from enum import StrEnum
from functools import partial
from typing import TypeVar

from kb.catalog import patience_s
from kb.mcp.server import Home
from kb.settings import NO_MODEL, Settings
from kb.usecases.knowledge_base import KnowledgeBase
from kb.usecases.opened import Opened

Answer = TypeVar("Answer")
READ_WAIT_S, WRITE_WAIT_S = 0.5, 120
"""For how long one waits for another process that writes the home: to add sheets that are missing, or to write."""


class Lane(StrEnum):
    """Says which threads answer a request. Only those of `CURATE` see private documents."""

    READ = "read"
    WRITE = "write"
    JUDGE = "judge"
    """One at a time, because one judgement would disturb the times of another."""
    CURATE = "curate"
    """Uploads, removals and decisions."""


class Answering(Home):
    """A home that answers as many questions at once as it has threads, each with a knowledge base of its own.

    Args:
        turn: Whoever holds it answers; the others queue.
    """

    def __init__(
        self,
        open_kb: Callable[[], KnowledgeBase],
        *,
        threads: int = 1,
        turn: AbstractAsyncContextManager[None] | None = None,
    ) -> None:
        self._turn = turn or nullcontext()
        self._threads = [Opened(open_kb) for _ in range(threads)]
        self._idle: asyncio.Queue[Opened] = asyncio.Queue()
        for thread in self._threads:
            self._idle.put_nowait(thread)

    async def ask(self, question: Callable[[KnowledgeBase], Answer]) -> Answer:
        thread = await self._idle.get()
        try:
            async with self._turn:
                return await thread.ask(question)
        finally:
            self._idle.put_nowait(thread)

    def open(self) -> None:
        for thread in self._threads:
            thread.open()

    def close(self) -> None:
        for thread in self._threads:
            thread.close()


def lanes_of(settings: Settings, notify: Callable[[str], None]) -> dict[Lane, Answering]:
    """A lane of each kind over one home, with one embedding model, which is loaded now.

    Raises:
        StoreError: the home cannot be opened.
    """
    with KnowledgeBase(settings, notify=notify) as kb:
        embedder = kb.models.embedder
    if embedder is None:  # said once, not by each thread
        settings = settings.model_copy(update={"embedding_model": NO_MODEL})
    hides = not settings.is_own("mcp")

    def opened(*, wait_s: float = WRITE_WAIT_S, without_private: bool = hides) -> KnowledgeBase:
        patience_s.set(wait_s)  # of the thread that opens it
        return KnowledgeBase(settings, notify=notify, embedder=embedder, without_private=without_private)

    turn = asyncio.Lock()  # one writer after another in the order in which they came; the home's lock has none
    reading = Answering(partial(opened, wait_s=READ_WAIT_S), threads=max(2, os.cpu_count() or 1))
    reading.open()  # SQLite cannot open a catalog on a full disk unless it is open already
    return {
        Lane.READ: reading,
        Lane.WRITE: Answering(opened, turn=turn),
        Lane.JUDGE: Answering(opened),
        Lane.CURATE: Answering(partial(opened, without_private=False), turn=turn),
    }
