"""Asks authors for the next candidate."""

from contextlib import suppress
from dataclasses import dataclass, replace

from kb.types.kernels import Candidate, Language
from kb.types.protocols import Proposal
from synth.authors.asking import Desk, Ledger
from synth.authors.author import AuthorError, Outcome
from synth.prompts.answer import AnswerError, parse_answer
from synth.prompts.prompt import Prompt
from synth.prompts.render import render

REPLIES = 2
"""Replies without a readable candidate, after which an author has failed."""


@dataclass
class Synthesizer:
    """Asks for candidates, and once more for each that cannot be read from the reply. It never judges one."""

    desk: Desk
    language: Language

    def recorded_in(self, ledger: Ledger) -> "Synthesizer":
        """The same authors, for a question with a record of its own."""
        return replace(self, desk=replace(self.desk, ledger=ledger))

    def ask(self, prompt: Prompt) -> None:
        """Get a reply, if there is none, from which `propose` reads the candidate. Raises AuthorError as there."""
        if not self.desk.replies:
            self.desk.ask(prompt.rules, prompt.rest, stable=prompt.stable)

    @property
    def first_candidate(self) -> Candidate | None:
        """That of the first reply; None if there is no reply, or it cannot be read."""
        with suppress(AnswerError, IndexError):
            return parse_answer(self.desk.replies[0].text, self.language).candidate
        return None

    def propose(self, prompt: Prompt) -> Proposal:
        """The candidate in a reply; first in those that are paid for.

        Raises:
            AuthorError: there is no candidate; `outcome` gives the reason.
        """
        self.ask(prompt)
        replies, asked = self.desk.replies, 1
        said: tuple[str, ...] = (prompt.rest,)
        while True:
            if not replies:
                asked += 1
                replies.append(self.desk.ask(prompt.rules, *said, stable=prompt.stable))
            reply = replies.pop(0)
            try:
                answer = parse_answer(reply.text, self.language)
            except AnswerError as error:
                if asked >= REPLIES:
                    unread = f"no kernel could be read from the answer: {error.message}"
                    raise AuthorError(unread, Outcome.UNREADABLE) from error
                wrong = render("retry", problem=error.message, remedy=error.hint)
                said = (prompt.rest, reply.text, wrong)
            else:
                return Proposal(**answer._asdict(), skills_used=prompt.skills, author=reply.author)
