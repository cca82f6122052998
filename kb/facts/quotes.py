"""Checks a reader's answer against the words that it quotes: only what the quote says becomes a fact."""

import re
from collections import defaultdict
from collections.abc import Sequence

from kb.facts.amounts import NUMBER_WORDS, PLAIN_NUMBER, PREFIXED, places, same_unit, scaled, units_of, without_amounts
from kb.facts.quantities import NAME, SHAPE, quantities
from kb.types.fact import RANGE, FactAnswer
from kb.types.units import PIECES, WRITTEN, unit_of

LONGEST_QUOTE = 600
"""Most characters of a quote: a longer one is no evidence for a single number."""

_TOKEN = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+")
_THOUSANDS = re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?![\d,])")
_CYCLES = re.compile(r"(?:clock\s?)?cycles?|clocks?", re.IGNORECASE)
_IN_CYCLES = re.compile(r"\b(?:latency|throughput|cpi|interval)\b", re.IGNORECASE)
_SECONDS = re.compile(r"\b(?:[munµ]s|\w*seconds?)\b")
_HEXADECIMAL = re.compile(r"0x[0-9a-f]+", re.IGNORECASE)
_AMOUNT = re.compile(r"\d+(?:[.,]\d+)*\s*(\D+)")
_SHAPE = re.compile(r"\d+(?:x\d+)+")
_SHAPE_WRITTEN = re.compile(r"\d+(?:\s?[x×*]\s?\d+)+")
_QUANTITY = re.compile(r"[^\W\d_]\w*")
_NEXT = r"[`*]*(?:,\s+(?:(?:and|or)\s+)?|\s+(?:and|or)\s+|\|)[`*]*"
_MEMBER = rf"\d[\w.]*(?:,\d{{3}})*(?:[-\s]?(?:{WRITTEN}))?"
_LISTED = re.compile(rf"{_MEMBER}(?:{_NEXT}{_MEMBER})+")
"""`1, 2, or 4`, `8-bit and 16-bit`, `8|16|32`."""
_BEFORE_UNIT = re.compile(r"^(?:0x[0-9a-f]+|[\d.,]+)[-\s]?", re.IGNORECASE)


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
    if prefixed := PREFIXED.fullmatch(text):
        return scaled(prefixed)
    value = text.lower()
    if value in NUMBER_WORDS:
        return NUMBER_WORDS[value]
    if _HEXADECIMAL.fullmatch(value):
        return float(int(value, 16))
    return float(value.replace("−", "-")) if PLAIN_NUMBER.fullmatch(value) else None


def plain_list(answer: FactAnswer) -> FactAnswer:
    """The answer with a list of numbers in kb's form: `1, 2, 4` for `1, 2, or 4` and `1|2|4`."""
    is_list = answer.unit != NAME and _LISTED.fullmatch(answer.value)
    return answer.model_copy(update={"value": ", ".join(_parts(answer.value))}) if is_list else answer


def refusal(answer: FactAnswer, quoted: str, around: str, after: str = "") -> str:
    """Why the answer is no fact, in words; empty if it is one.

    Args:
        quoted: The words of the document that the answer quotes.
        around: Headings, caption and header of the table in which they stand: the unit may stand there.
        after: The text behind them, in which a list may go on.
    """
    if not _QUANTITY.fullmatch(answer.quantity):
        return f"{answer.quantity!r} is no name of a quantity: letters, digits and underscores are"
    if len(quoted) > LONGEST_QUOTE:
        return f"the quote has {len(quoted)} characters: quote the shortest words that state the value"
    amount = _AMOUNT.fullmatch(answer.value)
    if answer.unit == NAME and (answer.value.lower() in NUMBER_WORDS or (amount and unit_of(amount[1]))):
        return f"{answer.value!r} is a number: give it as the value, with its unit, or '1' for a count"
    if answer.unit == NAME:
        return "" if quote_spans(answer.value, quoted) else f"the quote does not name {answer.value!r}"
    if answer.unit in ("", SHAPE) and _SHAPE.fullmatch(answer.value):
        shapes = {re.sub(r"\s", "", s).replace("×", "x").replace("*", "x") for s in _SHAPE_WRITTEN.findall(quoted)}
        return "" if answer.value in shapes else f"the quote does not hold the shape {answer.value}"
    numbers = {place.number for place in places(quoted)}
    for text in _parts(answer.value):
        if (number := _number(text)) is None:
            return f"{text!r} is no number, range or shape; a value in words has the unit {NAME!r}"
        if abs(number) not in numbers or (number < 0 and not re.search(r"[-−]\s?\d", quoted)):
            return f"the quote does not hold the number {text}"
    if more := _longer_list(answer.value, quoted, after):
        return f"the document has more values: {more}"
    return _refused_unit(answer, quoted, around)


def _parts(value: str) -> Sequence[str]:
    """The numbers of a value: the ends of a range, the members of a list, or the value itself."""
    if ends := RANGE.fullmatch(value):
        return ends.groups()
    return re.split(_NEXT, value)


def _longer_list(value: str, quoted: str, after: str) -> str:
    """The list of the document of which the value, with one unit, is a part; empty if it is whole, or no list."""
    if RANGE.fullmatch(value) or len(given := {_number(text) for text in _parts(value)}) < 2:
        return ""
    for match in _LISTED.finditer(quoted + after):
        unit, members = "", defaultdict[str, list[set[float]]](list)
        for text in reversed(re.split(_NEXT, match[0])):
            unit = _BEFORE_UNIT.sub("", text) or unit  # it may stand behind a later number: `1, 2, or 4 KiB`
            members[unit].append({place.number for place in places(text)})
        is_longer = any(len(alike) > len(given) and given <= set().union(*alike) for alike in members.values())
        if is_longer and match.start() < len(quoted):
            return match[0]
    return ""


def _refused_unit(answer: FactAnswer, quoted: str, around: str) -> str:
    unit, known = unit_of(answer.unit), quantities().by_name.get(answer.quantity)
    if known and unit and not known.counts(unit):
        return f"{answer.quantity} is counted in {known.unit}, not in {answer.unit or 'pieces'}"
    counts = unit is None or unit.kind in PIECES
    agrees = False
    for text in _parts(answer.value):
        beside = units_of(abs(_number(text) or 0), quoted, counts=counts)
        named, bare = [one for one in beside if one], "" in beside
        if named and not (counts and bare) and not any(same_unit(answer.unit, one) for one in named):
            return f"the quote states {text} in {named[0]}, not in {answer.unit.replace('1', '') or 'pieces'}"
        agrees |= bool(named)
    return "" if agrees or not answer.unit or answer.unit == "1" else _refused_far_unit(answer, quoted, around)


def _refused_far_unit(answer: FactAnswer, quoted: str, around: str) -> str:
    """Why the unit, which does not stand beside the number, cannot be the number's."""
    text = without_amounts(f"{quoted}\n{around}")
    if any(same_unit(answer.unit, one) for one in re.findall(rf"(?:{WRITTEN})(?![A-Za-z0-9])", text)):
        return ""
    unit, word = unit_of(answer.unit), re.escape(answer.unit.removesuffix("s") or answer.unit)
    if (unit is None or unit.kind in ("s", *PIECES)) and re.search(rf"(?i)(?<![a-z]){word}s?(?![a-z])", text):
        return ""
    if _CYCLES.fullmatch(answer.unit) and _IN_CYCLES.search(text) and not _SECONDS.search(text):
        return ""  # a table of instructions whose header says only `latency` counts cycles
    return f"neither the quote nor the headings above it state a unit like {answer.unit!r}"
