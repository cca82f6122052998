"""The knowledge base behind a server, which has several questions under way at once."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

from kb.targets import Targets

if TYPE_CHECKING:  # the caller opens it; loading it here would delay the start of the MCP server
    from kb.usecases.knowledge_base import KnowledgeBase

Answer = TypeVar("Answer")


class Opened:
    """Opens the knowledge base at the first question.

    All questions run in one thread, as SQLite's connections require; the server stays responsive meanwhile.
    """

    def __init__(self, open_kb: "Callable[[], KnowledgeBase]") -> None:
        self._open = open_kb
        self._kb: KnowledgeBase | None = None
        self._thread = ThreadPoolExecutor(max_workers=1)

    def open(self) -> None:
        """Open it now. Raises the errors of opening the home."""
        self._thread.submit(self._answer, lambda _: None).result()

    async def ask(self, question: "Callable[[KnowledgeBase], Answer]") -> Answer:
        """The answer. Raises what `question` raises, and the errors of opening the home."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._answer, question)

    def _answer(self, question: "Callable[[KnowledgeBase], Answer]") -> Answer:
        if self._kb is None:
            self._kb = self._open()
        self._kb.targets = Targets.load(self._kb.settings.home)  # an ingest may have added targets
        return question(self._kb)

    def close(self) -> None:
        if self._kb is not None:
            self._thread.submit(self._kb.close)
        self._thread.shutdown()
