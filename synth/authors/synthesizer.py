"""Asks authors for the next candidate."""

from dataclasses import dataclass

from kb.types.protocols import Proposal, Request, Synthesizer
from synth.authors.asking import Desk
from synth.authors.author import AuthorError, Outcome
from synth.prompts.answer import AnswerError, parse_answer
from synth.prompts.prompt import build_prompt
from synth.prompts.render import render

REPLIES = 2
"""Replies without a readable candidate, after which an author has failed."""


@dataclass
class AuthorSynthesizer(Synthesizer):
    """Asks for a candidate, and once more if none can be read from the reply."""

    desk: Desk

    def propose(self, request: Request) -> Proposal:
        """The candidate in a reply; first in those that were paid for and led to no candidate yet.

        Raises:
            AuthorError: there is no candidate; `outcome` gives the reason.
            SynthesisError: the prompt does not fit its budget.
        """
        prompt = build_prompt(request)
        replies, asked = list(self.desk.ledger.unused), 0
        said: tuple[str, ...] = (prompt.rest,)
        while True:
            if not replies:
                asked += 1
                replies.append(self.desk.ask(prompt.rules, *said, stable=prompt.stable))
            reply = replies.pop(0)
            try:
                answer = parse_answer(reply.text, request.language)
            except AnswerError as error:
                if asked >= REPLIES:
                    unread = f"no kernel could be read from the answer: {error.message}"
                    raise AuthorError(unread, Outcome.UNREADABLE) from error
                wrong = render("retry", problem=error.message, remedy=error.hint)
                said = (prompt.rest, reply.text, wrong)
            else:
                return Proposal(**answer._asdict(), skills_used=prompt.skills, author=reply.author)
