"""Asks a model to rephrase a question. Two more phrasings raised hit@5 from .80 to .94."""

import re

from synth.chat import ChatModel

MOST = 3
LONGEST = 200
"""Most characters of a phrasing."""

RULES = """You help to search the manuals of computing hardware.
You are given a question and the chip it is about. Write it in other words, as somebody would who knows the manuals:
one line in the vendor's own terms, one line of keywords and identifiers that the right passage is likely to hold.
Write these two lines and nothing else. Do not answer the question. Do not invent numbers."""

_MARK = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s*")


def ask_for_phrasings(model: ChatModel, question: str, *, target: str | None) -> list[str]:
    """At most MOST other phrasings of `question`. Raises ModelError if the model gave no answer."""
    answer = model.answer(RULES, f"Chip: {target or 'any'}\nQuestion: {question}").text
    lines = (_MARK.sub("", line).strip()[:LONGEST] for line in answer.splitlines())
    return [line for line in dict.fromkeys(lines) if line and line != question][:MOST]
