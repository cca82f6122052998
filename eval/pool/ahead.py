"""Judges the candidates of one task on several cards at the same time, each by a judge that stays for the next one."""

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from functools import partial
from queue import SimpleQueue
from threading import Lock
from typing import Any, NamedTuple, Self

from eval.pool.cards import Card, start_judges
from kb.errors import CanaryError
from kb.types.evidence import Estimate, Evidence
from kb.types.kernels import Candidate, Interface
from kb.types.protocols import Judge

END_S = 5.0
"""Wait so long at the end for judges that have nothing to do."""


class Asked(NamedTuple):
    """A candidate that waits for a card."""

    candidate: Candidate
    estimate: bool
    """Whether only a quick timing is wanted."""
    found: Future[Any]


class JudgesOnCards:
    """A `JudgesAhead`. A card that fails its canary, or on which no judge starts, is taken out, and others go on.

    Args:
        start: Starts a judge, with variables beside those of this process.
        cards: All of one kind.
        tell: Called with a line for each card that is taken out.

    Raises: What `start` raises for the last card, if no judge starts.
    """

    in_rounds = False

    def __init__(
        self,
        start: Callable[[Mapping[str, str]], AbstractContextManager[Judge]],
        cards: Sequence[Card],
        tell: Callable[[str], None],
    ) -> None:
        self.settings_at_once = self._left = len(cards)
        self._start, self._tell, self._lock, self._is_closed = start, tell, Lock(), False
        self._asked, self._waiting = dict[tuple[str, bool], Asked](), SimpleQueue[Asked | None]()
        self._failure: Exception | None = None
        self._described = Future[Interface]()
        self._threads = start_judges([partial(self._serve, card) for card in cards])
        try:
            self.interface = self._described.result()
        except BaseException:  # an interrupt, or no judge starts
            self._close()
            raise

    def expect(self, candidate: Candidate, *, estimate: bool = False) -> Future[Any]:
        """Begin with this as soon as a card is free, unless it was begun before; return what will be found."""
        with self._lock:
            asked = self._asked.get((candidate.digest, estimate))
            if asked is None:
                asked = self._asked[candidate.digest, estimate] = Asked(candidate, estimate, Future())
                if self._failure:
                    asked.found.set_exception(self._failure)
                else:
                    self._waiting.put(asked)
        return asked.found

    def verify(self, candidate: Candidate) -> Evidence:
        """Return the evidence on a candidate. Raises what `Judge` raises, and CanaryError when no card is left."""
        found: Evidence = self._found(candidate, estimate=False)
        return found

    def estimate(self, candidate: Candidate) -> Estimate:
        """A quick timing; errors as in `verify`."""
        found: Estimate = self._found(candidate, estimate=True)
        return found

    def _found(self, candidate: Candidate, *, estimate: bool) -> Any:
        try:
            return self.expect(candidate, estimate=estimate).result()
        finally:
            self._asked.pop((candidate.digest, estimate), None)  # who asks again wants another answer

    def _serve(self, card: Card) -> None:
        """Have a judge on a card, and another one if that fails."""
        try:
            while not self._is_closed:
                with self._start(card.environment()) as judge:
                    with self._lock:
                        if not self._described.done():
                            self._described.set_result(judge.interface)
                    self._answer(judge)
        except Exception as error:  # noqa: BLE001 - whoever waits gets it
            self._take_out(card, error)

    def _answer(self, judge: Judge) -> None:
        """Answer until the end, or until the judge may be at fault."""
        while (asked := self._waiting.get()) and not self._is_closed:
            try:
                asked.found.set_result(_answered(judge, asked))
            except CanaryError:
                self._waiting.put(asked)  # for another card
                raise
            except Exception as error:  # noqa: BLE001 - whoever waits gets it
                asked.found.set_exception(error)
                return

    def _take_out(self, card: Card, error: Exception) -> None:
        with self._lock:
            self._left -= 1
            if self._left:
                self._tell(f"{card} is taken out: {error}")
                return
            self._failure = error
            for future in (self._described, *(asked.found for asked in self._asked.copy().values())):
                if not future.done():
                    future.set_exception(error)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """End. A judge that is at work ends after its candidate, or with this process."""
        self._close()
        for thread in self._threads:
            thread.join(END_S / len(self._threads))

    def _close(self) -> None:
        self._is_closed = True
        for _ in self._threads:
            self._waiting.put(None)


def _answered(judge: Judge, asked: Asked) -> Evidence | Estimate:
    if not asked.estimate:
        return judge.verify(asked.candidate)
    start, found = time.monotonic(), judge.estimate(asked.candidate)
    return found.model_copy(update={"took_s": time.monotonic() - start})
