"""Makes text from documents, answers and kernels safe to show."""

import re

_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Characters that control a terminal, turn the order of a line or cannot be printed; what kb shows may contain them."""


def printable(text: str) -> str:
    """`text` with such characters as escapes."""
    return _CONTROLS.sub(lambda match: match.group().encode("unicode_escape").decode(), text)
