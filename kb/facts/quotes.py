"""Checks a reader's answer against the words that it quotes: only what the quote says becomes a fact."""

import re
from collections.abc import Sequence

from kb.facts.quantities import NAME, SHAPE, quantities
from kb.types.fact import LIST, RANGE, FactAnswer
from kb.types.units import WRITTEN, unit_of

LONGEST_QUOTE = 600
"""Most characters of a quote: a longer one is no evidence for a single number."""

_TOKEN = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+")
_NUMBER = re.compile(r"(?:\d{1,3}(?:,\d{3})+(?![\d,])|\d+)(?:\.\d+)*(?:e[+-]?\d+)?", re.IGNORECASE)
"""`4,096` is one number, `[40,48]` are two."""
_DECIMAL_COMMA = re.compile(r"(?<![\d.,])\d+,\d+(?![\d.,])")
_THOUSANDS = re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?![\d,])")
_PREFIXED = re.compile(r"(?<![\w.])(\d+)\s?([kKM])(?:(?![A-Za-z])|(?=i?[Bb](?:ytes?)?\b))")
"""`2K` of entries or bytes: on a chip a power of two."""
_CYCLES = re.compile(r"(?:clock\s?)?cycles?|clocks?", re.IGNORECASE)
_IN_CYCLES = re.compile(r"\b(?:latency|throughput|cpi|interval)\b", re.IGNORECASE)
_SECONDS = re.compile(r"\b(?:[munµ]s|\w*seconds?)\b")
_PLAIN_NUMBER = re.compile(r"[-−]?\d+(?:\.\d+)?(?:e[+-]?\d+)?", re.IGNORECASE)
_HEXADECIMAL = re.compile(r"0x[0-9a-f]+", re.IGNORECASE)
_HEXADECIMAL_WRITTEN = re.compile(r"(?:0x|\bx\"|'h)([0-9a-f][0-9a-f_]*)", re.IGNORECASE)
_PRODUCT = re.compile(r"(?<![\d.])(\d+)\s?[*×]\s?(\d+)(?![\d.])")
_AMOUNT = re.compile(r"\d+(?:[.,]\d+)*\s*(\D+)")
_SHAPE = re.compile(r"\d+(?:x\d+)+")
_SHAPE_WRITTEN = re.compile(r"\d+(?:\s?[x×*]\s?\d+)+")
_QUANTITY = re.compile(r"[^\W\d_]\w*")
_WORDS = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
seventeen eighteen nineteen twenty""".split()  # noqa: SIM905 - a list of words reads better as text


def quote_spans(quote: str, text: str) -> list[tuple[int, int]]:
    """Start and end of each place in `text` with the words of `quote`.

    Only words and numbers are compared, case included: a reader may join lines, and drops markup and table rules.
    """
    words = r"[\W_]*?".join(map(re.escape, _TOKEN.findall(quote)))
    return [found.span() for found in re.finditer(rf"(?<![^\W_]){words}(?![^\W_])", text)] if words else []


def number_of(answer: FactAnswer) -> float | None:
    """The value as a number, which may be hexadecimal or a word up to twenty; None for a range, a shape or words."""
    return None if answer.unit == NAME else _number(answer.value)


def _number(text: str) -> float | None:
    text = _THOUSANDS.sub(lambda match: match[0].replace(",", ""), text)
    if prefixed := _PREFIXED.fullmatch(text):
        return _scaled(prefixed)
    value = text.lower()
    if value in _WORDS:
        return float(_WORDS.index(value))
    if _HEXADECIMAL.fullmatch(value):
        return float(int(value, 16))
    return float(value.replace("−", "-")) if _PLAIN_NUMBER.fullmatch(value) else None


def refusal(answer: FactAnswer, quoted: str, around: str) -> str:
    """Why the answer is no fact, in words; empty if it is one.

    Args:
        quoted: The words of the document that the answer quotes.
        around: Headings, caption and header of the table in which they stand: the unit may stand there.
    """
    if not _QUANTITY.fullmatch(answer.quantity):
        return f"{answer.quantity!r} is no name of a quantity: letters, digits and underscores are"
    if len(quoted) > LONGEST_QUOTE:
        return f"the quote has {len(quoted)} characters: quote the shortest words that state the value"
    if answer.unit == NAME and _is_amount(answer.value):
        return f"{answer.value!r} is a number: give it as the value, with its unit, or '1' for a count"
    if answer.unit == NAME:
        return "" if quote_spans(answer.value, quoted) else f"the quote does not name {answer.value!r}"
    if answer.unit in ("", SHAPE) and _SHAPE.fullmatch(answer.value):
        shapes = {re.sub(r"\s", "", s).replace("×", "x").replace("*", "x") for s in _SHAPE_WRITTEN.findall(quoted)}
        return "" if answer.value in shapes else f"the quote does not hold the shape {answer.value}"
    for text in _parts(answer.value):
        if (number := _number(text)) is None:
            return f"{text!r} is no number, range or shape; a value in words has the unit {NAME!r}"
        if abs(number) not in _numbers(quoted) or (number < 0 and not re.search(r"[-−]\s?\d", quoted)):
            return f"the quote does not hold the number {text}"
    return _refused_unit(answer, f"{quoted}\n{around}")


def _parts(value: str) -> Sequence[str]:
    """The numbers of a value: the ends of a range, the members of a list, or the value itself."""
    if ends := RANGE.fullmatch(value):
        return ends.groups()
    if LIST.fullmatch(value):
        return value.split(", ")
    return (value,)


def _scaled(prefixed: re.Match[str]) -> float:
    return float(prefixed[1]) * (1 << 20 if prefixed[2] == "M" else 1 << 10)


def _is_amount(words: str) -> bool:
    """Whether words are a number in words, or a number with a unit."""
    amount = _AMOUNT.fullmatch(words)
    return words.lower() in _WORDS or bool(amount and unit_of(amount[1]))


def _numbers(text: str) -> set[float]:
    """The numbers of a text: decimal, hexadecimal, with K or M, products of two (`16*1024`), and words up to twenty."""
    written = [n.replace(",", "") for n in _NUMBER.findall(text)]
    written += [n.replace(",", ".") for n in _DECIMAL_COMMA.findall(text)]
    hexadecimal = {float(int(n.replace("_", ""), 16)) for n in _HEXADECIMAL_WRITTEN.findall(text)}
    products = {float(a) * float(b) for a, b in _PRODUCT.findall(text)}
    words = {w.lower() for w in _TOKEN.findall(text)}
    in_words = {float(i) for i, word in enumerate(_WORDS) if word in words}
    scaled = {_scaled(match) for match in _PREFIXED.finditer(text)}
    return {float(n) for n in written if _PLAIN_NUMBER.fullmatch(n)} | hexadecimal | products | in_words | scaled


def _refused_unit(answer: FactAnswer, text: str) -> str:
    unit, known = unit_of(answer.unit), quantities().by_name.get(answer.quantity)
    if known and unit and not known.counts(unit):
        return f"{answer.quantity} is counted in {known.unit}, not in {answer.unit or 'pieces'}"
    if not answer.unit or answer.unit == "1" or quote_spans(answer.unit, text):
        return ""
    if unit and unit.kind in {named.kind for w in re.findall(WRITTEN, text) if (named := unit_of(w))}:
        return ""
    if re.search(rf"(?i)(?:\b|(?<=\d)){re.escape(answer.unit.rstrip('s'))}", text):
        return ""
    if _CYCLES.fullmatch(answer.unit) and _IN_CYCLES.search(text) and not _SECONDS.search(text):
        return ""  # a table of instructions whose header says only `latency` counts cycles
    return f"neither the quote nor the headings above it state a unit like {answer.unit!r}"
