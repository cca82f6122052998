"""Replies of authors become candidates, whoever the author is."""

import pytest

from eval.languages.registry import CPP
from synth.authors.asking import Exchange, Notes
from synth.authors.author import HINTS, AuthorError, Outcome
from synth.authors.synthesizer import Synthesizer
from synth.prompts.prompt import build_prompt
from tests.synth.samples import CPP_SOURCE, request, warm
from tests.synth.scripted import ScriptedAuthor, desk_of

PROMPT = build_prompt(request(CPP))
GOOD = f"note: größer\n\n```cpp\n{CPP_SOURCE}```\n"
BAD = "I would rather not say."


def of(author: ScriptedAuthor, ledger: Notes | None = None) -> Synthesizer:
    return Synthesizer(desk_of(author, ledger=ledger), CPP)


def test_an_answer_becomes_a_proposal_with_its_author() -> None:
    proposal = of(ScriptedAuthor(GOOD)).propose(PROMPT)

    assert (proposal.candidate.source, proposal.note, proposal.author) == (CPP_SOURCE, "größer", "scripted")


def test_an_author_is_asked_the_prompt_with_its_stable_part_apart() -> None:
    author, prompt = ScriptedAuthor(GOOD), build_prompt(warm())

    proposal = of(author).propose(prompt)

    [ask] = author.asked
    assert (ask.system, ask.stable, ask.said) == (prompt.rules, prompt.stable, (prompt.rest,))
    assert proposal.skills_used == prompt.skills


def test_after_an_answer_without_a_kernel_the_author_is_told_what_is_wrong() -> None:
    author = ScriptedAuthor(BAD, GOOD)

    of(author).propose(PROMPT)

    first, second = author.asked
    assert (second.system, second.stable, second.said[:2]) == (first.system, first.stable, (*first.said, BAD))
    assert "found no fenced code block" in second.said[2]


@pytest.mark.parametrize("text", ["", " \n", "```python\nx\n```"])
def test_two_answers_without_a_kernel_are_enough(text: str) -> None:
    author = ScriptedAuthor(text)

    with pytest.raises(AuthorError) as caught:
        of(author).propose(PROMPT)

    assert (caught.value.outcome, len(author.asked)) == (Outcome.UNREADABLE, 2)


class AfterAKill(Notes):
    """Holds replies that were paid for before a kill."""

    def __init__(self, *texts: str) -> None:
        super().__init__()
        for number, text in enumerate(texts, start=1):
            self.record(Exchange(number=number, author="earlier", answered=True, text=text))


def test_a_reply_that_was_paid_for_before_a_kill_is_used_and_nobody_is_asked() -> None:
    author = ScriptedAuthor(GOOD)

    proposal = of(author, AfterAKill(BAD, GOOD)).propose(PROMPT)

    assert (proposal.author, author.asked) == ("earlier", [])


def test_unreadable_replies_before_a_kill_keep_nobody_from_being_asked_again() -> None:
    author = ScriptedAuthor(GOOD)

    of(author, AfterAKill(BAD, BAD)).propose(PROMPT)

    [ask] = author.asked
    assert ask.said[1] == BAD


def test_every_outcome_has_a_hint() -> None:
    assert set(HINTS) == set(Outcome)
