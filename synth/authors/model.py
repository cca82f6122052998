"""Asks a language model for the next candidate."""

from collections import Counter
from dataclasses import dataclass

from kb.types.kernels import Candidate, Language
from kb.types.protocols import Proposal, Request, Synthesizer
from synth.authors.chat import ChatModel, ModelError, ModelOutcome
from synth.prompts.answer import AnswerError, parse_answer
from synth.prompts.prompt import Prompt, build_prompt
from synth.prompts.render import render


@dataclass
class ModelSynthesizer(Synthesizer):
    """Asks a model for a candidate, and once more if none can be read from its answer."""

    model: ChatModel
    name: str = "model"

    def propose(self, request: Request) -> Proposal:
        """The candidate in the model's answer.

        Raises:
            ModelError: there is no candidate; `outcome` gives the reason.
            SynthesisError: the prompt does not fit its budget.
        """
        prompt = build_prompt(request)
        usage: Counter[str] = Counter()
        try:
            candidate, note = self._candidate(prompt, request.language, usage)
        except ModelError as error:
            usage.update(error.usage)
            error.usage = dict(usage)
            raise
        return Proposal(candidate=candidate, note=note, skills_used=prompt.skills, usage=dict(usage))

    def _candidate(self, prompt: Prompt, language: Language, usage: Counter[str]) -> tuple[Candidate, str]:
        """Taken from the first answer, or from the second after telling the model what is wrong with the first."""
        text = self._answer(prompt, usage)
        try:
            return parse_answer(text, language)
        except AnswerError as error:
            wrong = render("retry", problem=error.message, remedy=error.hint)
        try:
            return parse_answer(self._answer(prompt, usage, text, wrong), language)
        except AnswerError as error:
            unread = f"no kernel could be read from the answer: {error.message}"
            raise ModelError(unread, ModelOutcome.BAD_ANSWER) from error

    def _answer(self, prompt: Prompt, usage: Counter[str], *later: str) -> str:
        answer = self.model.answer(prompt.rules, prompt.rest, *later, stable=prompt.stable)
        usage.update(answer.usage)
        return answer.text
