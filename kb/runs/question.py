"""Questions to authors, which are asked while the judge works and others are answered."""

from collections.abc import Callable, Sequence
from threading import Event, Thread

from kb.errors import StoreError
from kb.runs.journal import Run
from kb.types.kernels import Candidate
from kb.types.protocols import Proposal
from synth.authors.asking import Exchange, Ledger
from synth.authors.author import OVER, AuthorError, Outcome
from synth.authors.synthesizer import Synthesizer
from synth.prompts.prompt import Prompt
from synth.search.moves import Ask

OnAnswer = Callable[[Candidate], None]
"""Called in the question's thread with the candidate of an answer, before `wait` returns it."""


class Question(Ledger):
    """Asks at once, in a thread that does not outlive the process, and records it in the run."""

    def __init__(
        self, run: Run, question: int, ask: Ask, synthesizer: Synthesizer, prompt: Prompt, on_answer: OnAnswer | None
    ) -> None:
        """Ask, and return once the journal has the request: so it has all requests in the order of the questions."""
        self.question, self.ask, self._run, self._prompt = question, ask, run, prompt
        self._on_answer = on_answer
        self._authors = synthesizer.recorded_in(self)
        self.error: Exception | None = None  # why there is no reply
        self._recorded = Event()
        self._thread = Thread(target=self._ask, daemon=True)
        self._thread.start()
        self._recorded.wait()

    @property
    def exchanges(self) -> Sequence[Exchange]:
        return self._run.exchanges

    def record(self, exchange: Exchange) -> None:
        self._run.record(exchange, self.ask)
        self._recorded.set()

    def _ask(self) -> None:
        try:
            self._authors.ask(self._prompt)
            if self._on_answer and (candidate := self._authors.first_candidate):
                self._on_answer(candidate)
        except Exception as error:  # noqa: BLE001 - whoever waits gets it
            self.error = error
        finally:
            self._recorded.set()

    def finish(self, kind: type[BaseException] | None = None, *_: object) -> None:
        """Wait until the run has recorded the reply or its failure. A context that an interrupt ends does not wait.

        Raises StoreError if a context exits by an error and the reply cannot be recorded: that costs more.
        """
        if kind is None or issubclass(kind, Exception):
            self._thread.join()
        if kind and isinstance(self.error, StoreError):
            raise self.error

    def wait(self) -> Proposal:
        """The answer. Raises what the authors raised.

        An answer that cannot be read is asked for again only here, as is one for which there was no budget while others
        were under way: so requests have the same order after a kill.
        """
        self.must_not_have_failed()
        own = {"stage": self.ask.stage, "parent": self.ask.base, "question": self.question}
        return self._authors.propose(self._prompt).model_copy(update=own)

    def must_not_have_failed(self) -> None:
        """Raises what the authors raised, unless there was no budget."""
        self.finish()
        if self.error and not (isinstance(self.error, AuthorError) and self.error.outcome in OVER):
            raise self.error


def written(run: Run) -> dict[int, int]:
    """The numbers of the candidates that were written, not tuned, by those of their questions."""
    by_step = {e.step: e.proposal.question for e in run.entries if e.proposal and not e.proposal.is_tuned}
    found = dict[int, int]()
    for step, question in by_step.items():
        found[question or len(found) + 1] = step
    return found


def answer_of(question: Question, others: Sequence[Question]) -> Proposal:
    """The answer to a question. What finds no budget while others are under way is asked when these are answered."""
    try:
        return question.wait()
    except AuthorError as error:
        if error.outcome not in OVER:
            raise
    for other in others:
        other.finish()
    return question.wait()


def over_budget(error: AuthorError) -> str:
    """Why a run ends for want of budget; empty if it only pauses. Raises the error if it is another."""
    if error.outcome not in OVER:
        raise error
    return error.message if error.outcome is Outcome.OVER_BUDGET else ""
