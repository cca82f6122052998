"""The threads that answer. Questions that read wait for no writer; those that write queue, as do those that judge."""

import asyncio
import os
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from enum import StrEnum
from functools import partial
from typing import TypeVar

from kb.mcp.server import Home
from kb.settings import NO_MODEL, Settings
from kb.usecases.knowledge_base import KnowledgeBase
from kb.usecases.opened import Opened

Answer = TypeVar("Answer")
WRITE_WAIT_S = 120
"""For how long the first of the queue waits for another process that writes the home."""


class Lane(StrEnum):
    """Which threads answer. All but `CURATE` see no private document."""

    READ = "read"
    WRITE = "write"
    JUDGE = "judge"
    """One at a time, because one judgement would disturb the times of another."""
    CURATE = "curate"
    """Uploads, removals and decisions."""


class Answering(Home):
    """A home that answers as many questions at once as it has threads, each with a knowledge base of its own.

    Args:
        wait_s: As for `Opened`.
        turn: Whoever holds it answers; the others queue.
    """

    def __init__(
        self,
        open_kb: Callable[[], KnowledgeBase],
        *,
        threads: int = 1,
        wait_s: float = 0.5,
        turn: AbstractAsyncContextManager[None] | None = None,
    ) -> None:
        self._turn = turn or nullcontext()
        self._threads = [Opened(open_kb, wait_s=wait_s) for _ in range(threads)]
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
    whole = partial(KnowledgeBase, settings, notify=notify, embedder=embedder)
    public = partial(whole, without_private=not settings.is_own("mcp"))
    turn = asyncio.Lock()  # one writer after another in the order in which they came; the home's lock has none
    return {
        Lane.READ: Answering(public, threads=max(2, os.cpu_count() or 1)),
        Lane.WRITE: Answering(public, wait_s=WRITE_WAIT_S, turn=turn),
        Lane.JUDGE: Answering(public, wait_s=WRITE_WAIT_S),
        Lane.CURATE: Answering(whole, wait_s=WRITE_WAIT_S, turn=turn),
    }
