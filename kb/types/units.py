"""Parse units as documents write them into a kind and a scale."""

import re
from functools import cache
from typing import NamedTuple


class Unit(NamedTuple):
    kind: str
    """The base unit: `byte`, `byte/s`, `FLOP/s`, `Hz`, `1`, ... Bits are converted to bytes."""
    scale: float
    """Number of base units in one of this unit."""


PIECES = ("1", "lane", "thread")
"""Kinds that count whole things: fractions make no sense, and documents use the kinds interchangeably."""

_THINGS = {
    "byte": r"B|[Bb]ytes?|字节",
    "bit": r"b|[Bb]its?",
    "FLOP": r"(?:[Ff][Ll])?[Oo][Pp][Ss]?|F|(?:[Ff]loating[- ]point\s+)?[Oo]perations?",
    "MAC": r"(?:MAC|FMA)s?(?:\s+operations?)?",
    "Hz": r"[Hh][Zz]",
    "W": r"W|[Ww]atts?",
    "s": r"s|secs?|seconds?",
    "lane": r"[Ll]anes?",
    "thread": r"[Tt]hreads?|work-?items?",
    "1": "1?",
}
_WORTH = {"bit": ("byte", 1 / 8), "MAC": ("FLOP", 2.0)}
"""Units that are converted to another kind: a multiply-add is two operations."""
_RATES = {
    "/s": r"\s*/\s*s(?:ec(?:ond)?)?|ps|\s+per\s+sec(?:ond)?",
    "/clock": r"\s*/\s*(?:clock|clk|cyc(?:le)?|CLOCK|Clock)|\s+per\s+(?:clock|cycle)(?:\s+cycle)?|\s+each\s+cycle",
}
_SPELT_OUT = {"kilo": "k", "mega": "M", "giga": "G", "tera": "T", "peta": "P"}
_BINARY = {"Ki": 1, "ki": 1, "Mi": 2, "Gi": 3, "Ti": 4}
_DECIMAL = {"n": -3, "u": -2, "µ": -2, "m": -1, "k": 1, "K": 1, "M": 2, "G": 3, "T": 4, "P": 5, "E": 6}
_ON_CHIP = {"k", "K", "M"}
"""Prefixes that are binary before bytes: on-chip memory sizes are powers of two, however they are printed."""

WRITTEN = (
    rf"(?:[KMGT]i|[kKMGTPE]|[gmtp](?=flop)|(?i:{'|'.join(_SPELT_OUT)}))?"
    r"(?:B|[Bb]ytes?|字节|b(?![a-z])|b(?=ps\b)|[Bb]its?|[Ff][Ll][Oo][Pp][Ss]?|OP[Ss]|(?<=[GTP])F(?![A-Za-z0-9])"
    r"|(?:(?:MAC|FMA)s?(?:\s+operations?)?|(?:[Ff]loating[- ]point\s+)?[Oo]perations?)(?=\s*/|\s+per\s))"
    r"(?:\s*/\s*(?:s(?:ec(?:ond)?)?|clock|clk|cyc(?:le)?|CLOCK|Clock)\b|ps\b"
    r"|\s+per\s+(?:sec(?:ond)?|clock(?:\s+cycle)?|cycle)\b|\s+each\s+cycle\b)?"
    r"|[kKMGT]?[Hh]z|k?W(?:atts?)?\b"
)
"""Pattern that finds units in text, without those too ambiguous to identify a quantity."""

OTHER_UNITS = r"[munµ][AV]|k[VΩ]|Ω|[AV](?=\s*(?:[^\w\s]|$))|°C|℃|%|[munµ]m|dBm?|ppm|[npuµ]F"
"""Pattern of units of which kb has no quantity, such as those of current and voltage."""

_UNIT = re.compile(
    rf"(?P<prefix>{'|'.join((*_BINARY, *_DECIMAL))})?"
    rf"(?:{'|'.join(f'(?P<t{i}>{p})' for i, p in enumerate(_THINGS.values()))})"
    rf"(?:{'|'.join(f'(?P<r{i}>{p})' for i, p in enumerate(_RATES.values()))})?"
)
_SPELT = re.compile(rf"^(?i:{'|'.join(_SPELT_OUT)})(?=\w)|^[gmtp](?=flop)")


@cache
def unit_of(text: str) -> Unit | None:
    """The unit that `text` names; None if kb does not know it. A shape has no unit."""
    match = _UNIT.fullmatch(_SPELT.sub(lambda m: _SPELT_OUT.get(m.group().lower(), m.group().upper()), text.strip()))
    if match is None:
        return None
    thing = next(name for i, name in enumerate(_THINGS) if match[f"t{i}"] is not None)
    rate = next((name for i, name in enumerate(_RATES) if match[f"r{i}"] is not None), "")
    if thing in ("FLOP", "MAC") and not rate:
        rate = "/s"  # TFLOPS and TOPS mean rates
    if thing in PIECES and (match["prefix"] or rate):
        return None
    scale = _scale(match["prefix"] or "", binary_k=thing == "byte" and not rate)
    counted, worth = _WORTH.get(thing, (thing, 1.0))
    return Unit(counted + rate, scale * worth)


def _scale(prefix: str, *, binary_k: bool) -> float:
    if prefix in _BINARY:
        return 1024.0 ** _BINARY[prefix]
    if prefix in _DECIMAL:
        return (1024.0 if binary_k and prefix in _ON_CHIP else 1000.0) ** _DECIMAL[prefix]
    return 1.0
