"""Chooses the words of one seed's documents, so that no rule for extraction can be tuned to a wording."""

import re
from random import Random

_CHOICE = re.compile(r"\[([^\[\]]*\|[^\[\]]*)\]")

_HABITS = (
    ("cycles", "clocks", "clock cycles"),
    ("must", "has to", "shall"),
    ("kernel", "program", "routine"),
    ("element", "item"),
    ("author", "programmer", "developer"),
)
"""Words for one thing, of which a vendor keeps to one."""


class Wording:
    """The style of one vendor: `say` picks one of the wordings of a sentence.

    Args:
        part: What is written, so that a change in one document leaves the wording of the others.
    """

    def __init__(self, seed: int, part: str) -> None:
        vendor = Random(f"{seed} habits")
        self.habits = {words[0]: vendor.choice(words) for words in _HABITS}
        self.chance = Random(f"{seed} {part}")

    def say(self, template: str, **values: object) -> str:
        """One wording of a template: `[a|b]` is a choice and may be nested, `<cycles>` the vendor's own word for it,
        `{name}` a value."""
        while match := _CHOICE.search(template):
            choice = self.chance.choice(match[1].split("|"))
            template = template[: match.start()] + choice + template[match.end() :]
        text = re.sub(r"<(\w+)>", lambda match: self.habits[match[1]], template).format(**values)
        return text[:1].upper() + text[1:]
