"""The edition of a document: its version, its date, or both, and which of two editions is newer."""

import re
from typing import Self

from kb.types.base import Frozen
from kb.types.records import Trust

_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_MONTH = rf"(?P<month>{'|'.join(_MONTHS)})[a-z]*\.?"
_YEAR = r"(?P<year>(?:19|20)\d\d)"
_DATES = (
    rf"(?<![\d.]){_YEAR}(?P<mark>[-/.]?)(?P<number>0[1-9]|1[0-2])(?:(?P=mark)(?P<day>[0-3]\d))?(?![\d.])",
    rf"(?:(?P<day>\d\d?)(?:st|nd|rd|th)?[ -])?\b{_MONTH}[ -]{_YEAR}",
    rf"\b{_MONTH} (?P<day>\d\d?)(?:st|nd|rd|th)?, ?{_YEAR}",
    rf"(?<!\d)(?P<first>\d\d?)/(?P<second>\d\d?)/{_YEAR}",
    rf"(?:^|\(){_YEAR}(?:\)|$)",
)
"""`2026-02`, `20260211`; `11 February 2026`; `Feb 11, 2026`; `02/11/2026`; a year alone."""
_VERSION = re.compile(r"\d+(?:\.\d+)*(?:[-.]?(?:a|b|rc|dev|alpha|beta|draft|pre|post)[-.]?\d*)?", re.IGNORECASE)
_PART = re.compile(
    r"(?:.*[-_])?(?:v?\d+(?:\.(?:\d+|x))+|(?:19|20)\d\d-(?:0[1-9]|1[0-2])(?:-[0-3]\d)?)"
    r"|(?:version|release|rev|v|r)[-_]?\d+(?:[._]\d+)*|latest|stable|main|new|old|legacy|archive|previous",
    re.IGNORECASE,
)

_CORRECTS = re.compile(r"errat(?:a|um)|corrigend(?:a|um)", re.IGNORECASE)
_SET_ASIDE = re.compile(
    r"(?:.*[^a-z])?(?:draft|archive|legacy|deprecated|obsolete|superseded|previous|old)s?(?:[^a-z].*)?"
)


class Edition(Frozen):
    """What a document states about its own age. Both parts may be empty."""

    version: str = ""
    date: str = ""
    """ISO 8601 to the year, the month or the day."""

    @classmethod
    def read(cls, text: str) -> Self:
        """The version and the date in `text`, such as `v1.1.6 (Feb 2026)`."""
        date, rest = "", text
        for pattern in _DATES:
            if match := re.search(pattern, text, re.IGNORECASE):
                date, rest = _iso(match.groupdict()), text[: match.start()] + text[match.end() :]
                break
        number = _VERSION.search(rest)
        return cls(version=number[0] if number else "", date=date)

    def __bool__(self) -> bool:
        return bool(self.version or self.date)

    def is_newer_than(self, other: "Edition", *, same_product: bool) -> bool:
        """Whether this edition is certainly the newer one.

        Dates are compared as far as both are known, and versions if there are no two dates. A version and a date, and
        versions of two products, say nothing about which is newer.
        """
        if self.date and other.date:
            shared = min(len(self.date), len(other.date))
            return self.date[:shared] > other.date[:shared]
        if self.version and other.version and same_product:
            return _release(self.version) > _release(other.version)
        return False


def is_same_product(path: str, other: str) -> bool:
    """Whether the versions of two documents belong to one product, so that they can be compared.

    They do if the folder of one contains the other, when parts that name an edition (`v1.1.6`, `2026-02`, `latest`)
    are left out of both paths.
    """
    return are_nested(product_folder(path), product_folder(other))


def are_nested(folder: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether one folder contains the other, or both are the same."""
    shared = min(len(folder), len(other))
    return folder[:shared] == other[:shared]


def product_folder(path: str) -> tuple[str, ...]:
    """The folder of a document without the parts that name an edition."""
    return tuple(part for part in path.split("/")[:-1] if not names_edition(part))


def names_edition(part: str) -> bool:
    """Whether a folder or the stem of a file is named for an edition: `v1.1.6`, `guide-2026-02`, `stable`."""
    return _PART.fullmatch(part) is not None


def document_precedence(path: str, title: str, trust: Trust) -> int:
    """Which of two documents holds where they differ: that with the greater number.

    The vendor's errata (1) say so in their name or title. What is not in force (-1) lies in a folder that says so:
    `draft-v0.7`, `archive`, `old`. All others have 0.
    """
    if any(_SET_ASIDE.fullmatch(part.lower()) for part in path.split("/")[:-1]):
        return -1
    return int(trust is Trust.VENDOR and _CORRECTS.search(f"{path} {title}") is not None)


def _release(version: str) -> tuple[tuple[int, ...], bool]:
    """A version as a sort key; a version before the final one (`2.0rc1`) comes before it."""
    numbers = re.match(r"[\d.]+", version)
    return tuple(int(n) for n in (numbers[0] if numbers else "").split(".") if n), version[-1:].isdigit() and not (
        re.search(r"[a-z]", version, re.IGNORECASE)
    )


def _iso(found: dict[str, str | None]) -> str:
    """The date with as many parts as are certain: the order of `06/11/2026` is not, that of `02/13/2026` is."""
    month, day = found.get("number"), found.get("day")
    if name := found.get("month"):
        month = str(1 + _MONTHS.index(name.lower()))
    if found.get("first"):
        first, second = int(found["first"] or 0), int(found["second"] or 0)
        if first > 12 or second > 12:
            month, day = map(str, (second, first) if first > 12 else (first, second))
    parts = [f"{int(part):02}" for part in (month, day) if part]
    return "-".join((found["year"] or "", *parts))
