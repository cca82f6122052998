"""Numbers of a quote, each with the unit beside it."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from kb.types.units import OTHER_UNITS, PIECES, WRITTEN, unit_of

PLAIN_NUMBER = re.compile(r"[-−]?\d+(?:\.\d+)?(?:e[+-]?\d+)?", re.IGNORECASE)
PREFIXED = re.compile(r"(?<![\w.])(\d+)\s?([kKM])(?:(?![A-Za-z])|i?(?=[Bb](?:ytes?)?\b))")
"""`2K` of entries or bytes: on a chip a power of two."""
_COUNTED = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
seventeen eighteen nineteen twenty""".split()  # noqa: SIM905 - a list of words reads better as text
NUMBER_WORDS = {word: float(n) for n, word in enumerate(_COUNTED)} | {"dual": 2.0, "triple": 3.0, "quad": 4.0}

_NUMBER = re.compile(r"(?:\d{1,3}(?:,\d{3})+(?![\d,])|\d+)(?:\.\d+)*(?:e[+-]?\d+)?", re.IGNORECASE)
"""`4,096` is one number, `[40,48]` are two."""
_DECIMAL_COMMA = re.compile(r"(?<![\d.,])\d+,\d+(?![\d.,])")
_HEXADECIMAL = re.compile(r"(?:0x|\bx\"|'h)([0-9a-f][0-9a-f_]*)", re.IGNORECASE)
_PRODUCT = re.compile(r"(?<![\d.])(\d+)\s?[*×]\s?(\d+)(?![\d.])")
_WORD = re.compile(r"[^\W\d_]+")
_UNIT = (
    rf"[\s*_`|(\[-]{{0,5}}(?P<unit>[kKMG]\s+(?:[Bb]ytes?|[Bb]its?)|{WRITTEN}|(?:[munµ]s|s|seconds?)\b"
    rf"|{OTHER_UNITS}|[kKM])(?![A-Za-z0-9])"
)
_BESIDE = re.compile(_UNIT)
_BEHIND_RANGE = re.compile(
    rf"\]?(?:\s*(?:up\s+to|to|and|or|through|[-–—~～/,、至到])\s*(?:and\s+|or\s+)?\d+(?:\.\d+)?)+{_UNIT}"
)
"""A range or a list with its unit behind the last number."""
_AMOUNT = re.compile(rf"\d{_UNIT}")
_TYPE = re.compile(r"(?:\b|_)(?:[us]?int|bits?)[(<](\d+)(?:$|[)>](?!\s?[a-z]))", re.IGNORECASE)
"""A data type with its number of bits: `UInt(128)`, `ap_int<8>`. In `UInt(128) bytes` the number has another unit."""
_FLOATING = re.compile(r"fl|f\b", re.IGNORECASE)


class Place(NamedTuple):
    """A number of a text, and where it ends there."""

    number: float
    end: int


def places(text: str) -> Iterator[Place]:
    """The numbers of a text: decimal, hexadecimal, with K or M, products of two (`16*1024`), and words up to twenty."""
    for match in _NUMBER.finditer(text):
        if PLAIN_NUMBER.fullmatch(plain := match[0].replace(",", "")):
            yield Place(float(plain), match.end())
    for match in _DECIMAL_COMMA.finditer(text):
        yield Place(float(match[0].replace(",", ".")), match.end())
    for match in _HEXADECIMAL.finditer(text):
        yield Place(float(int(match[1].replace("_", ""), 16)), match.end())
    for match in _PRODUCT.finditer(text):
        yield Place(float(match[1]) * float(match[2]), match.end())
    for match in PREFIXED.finditer(text):
        yield Place(scaled(match), match.end())
    for match in _WORD.finditer(text):
        if match[0].lower() in NUMBER_WORDS:
            yield Place(NUMBER_WORDS[match[0].lower()], match.end())


def scaled(prefixed: re.Match[str]) -> float:
    """The number that a match of `PREFIXED` stands for."""
    return float(prefixed[1]) * (1 << 20 if prefixed[2] == "M" else 1 << 10)


def units_of(number: float, text: str, *, counts: bool) -> list[str]:
    """The unit that the text writes beside the number, for each time that it has the number; empty where there is none.

    Args:
        counts: Whether the number is to count things: the unit behind a list of numbers is then not its own.
    """
    patterns = (_BESIDE,) if counts else (_BESIDE, _BEHIND_RANGE)
    ends = [place.end for place in places(text) if place.number == number]
    found = [next(filter(None, (pattern.match(text, end) for pattern in patterns)), None) for end in ends]
    typed = {match.end(1) for match in _TYPE.finditer(text)}
    return [match["unit"] if match else "bit" * (end in typed) for match, end in zip(found, ends, strict=True)]


def same_unit(one: str, other: str) -> bool:
    """Whether two units are the same; KB is KiB here, as everywhere in kb, but TOPS are not TFLOPS."""
    one, other = (re.sub(r"^([kKMG])\s+", r"\1", unit.strip()) for unit in (one, other))
    first, second = unit_of(one), unit_of(other)
    if first is None or second is None:
        return one.removesuffix("s") == other.removesuffix("s")
    if first.kind.startswith("FLOP") and bool(_FLOATING.search(one)) != bool(_FLOATING.search(other)):
        return False
    return first == second or (first.kind in PIECES and second.kind in PIECES)


def without_amounts(text: str) -> str:
    """The text without the numbers that have units of their own: what is left may name the unit of another number."""
    return _AMOUNT.sub(" ", text)
