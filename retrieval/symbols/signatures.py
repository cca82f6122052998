"""The parameters of a signature and the keywords of a call, read from text."""

import re
from dataclasses import dataclass

LONGEST = 4000
"""Most characters of a parameter list; a longer one is text with a bracket missing."""

_PAIRS = {"(": ")", "[": "]", "{": "}", "<": ">"}
_QUALIFIERS = set("const volatile unsigned signed struct class enum typename restrict __restrict__".split())  # noqa: SIM905


@dataclass(frozen=True, slots=True)
class Signature:
    inside: str
    """The list of parameters as it is written, on one line."""
    parameters: tuple[str, ...] | None
    """Their names; None if the text gives only their types."""
    is_open: bool
    """Whether it takes more than it names: `*args`, `**kwargs`, `...`."""
    is_typed: bool
    """Whether a type stands before the name, as in C, where callers give no names of parameters."""

    def agrees_with(self, other: "Signature") -> bool:
        """Whether both may state one interface. Names count only where a caller can give them."""
        if self.is_open or other.is_open or self.parameters is None or other.parameters is None:
            return True
        if self.is_typed or other.is_typed:
            return len(self.parameters) == len(other.parameters)
        return self.parameters == other.parameters


def bracketed(text: str, start: int) -> str | None:
    """What stands between the bracket at `start` and the one that closes it; None if none does."""
    depth, quote = 0, ""
    for i in range(start, min(len(text), start + LONGEST)):
        char = text[i]
        if quote:
            quote = "" if char == quote else quote
        elif char in "\"'" and text[i - 1] in "(,=[{ ":
            quote = char
        elif char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
            if not depth:
                return text[start + 1 : i]
    return None


def arguments(inside: str) -> list[str]:
    """The parts of a list, separated by commas that stand in no inner brackets."""
    parts, depth, begin = [], 0, 0
    for i, char in enumerate(inside):
        if char in _PAIRS and not (char == "<" and inside[i : i + 2] in ("<=", "<<")):
            depth += 1
        elif char in _PAIRS.values() and inside[i - 1 : i] not in ("-", "="):
            depth -= 1
        elif char == "," and depth <= 0:
            parts.append(inside[begin:i])
            begin = i + 1
    return [part.strip() for part in (*parts, inside[begin:]) if part.strip()]


def signature(inside: str, *, typed: bool) -> Signature:
    """The signature with this parameter list.

    Args:
        typed: Whether a type stands before the name, as in C; then a single word is a type.
    """
    names: list[str] = []
    is_open = False
    unnamed = False
    plain = re.sub(r"/\*.*?\*/|//[^\n]*", " ", inside)
    for argument in arguments(re.sub(r"\[\s*,", ",", plain)):  # `x[, y]` is how manuals mark what may be left out
        if argument.startswith("**") or re.match(r"\*\w", argument) or "..." in argument:
            is_open = True
            continue
        stated = re.split(r"(?<![=!<>:]):(?!:)|(?<![=!<>])=(?!=)", argument)[0]
        words = [w for w in re.findall(r"\w+", re.sub(r"<[^<>]*>|\[[^\]]*\]", "", stated)) if w not in _QUALIFIERS]
        if not words or words in (["self"], ["cls"], ["void"]):
            continue
        unnamed = unnamed or (typed and len(words) == 1)
        names.append(words[-1])
    return Signature(" ".join(inside.split()), None if unnamed else tuple(names), is_open, typed)


def keywords(inside: str) -> tuple[str, ...]:
    """The names in `name=value` among the arguments of a call."""
    found = (re.match(r"(\w+)\s*=(?!=)", argument) for argument in arguments(inside))
    return tuple(match[1] for match in found if match and not match[1].isdigit())
