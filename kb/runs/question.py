"""A question to an author, which is asked while the judge works."""

from threading import Thread

from kb.types.protocols import Proposal, Request, Synthesizer


class Question:
    """Asks at once, in a thread that does not outlive the process."""

    def __init__(self, synthesizer: Synthesizer, request: Request) -> None:
        self._synthesizer, self._request = synthesizer, request
        self._outcome: Proposal | Exception | None = None
        self._thread = Thread(target=self._ask, daemon=True)
        self._thread.start()

    def _ask(self) -> None:
        try:
            asked = {"stage": self._request.stage, "parent": self._request.base}
            self._outcome = self._synthesizer.propose(self._request).model_copy(update=asked)
        except Exception as error:  # noqa: BLE001 - whoever waits gets it
            self._outcome = error

    def finish(self) -> None:
        """Wait until the answer, or why there is none, is recorded."""
        self._thread.join()

    def wait(self) -> Proposal:
        """The answer. Raises what the synthesizer raised."""
        self.finish()
        if isinstance(self._outcome, Exception):
            raise self._outcome
        assert self._outcome is not None  # noqa: S101 - the thread ends with one of both
        return self._outcome
