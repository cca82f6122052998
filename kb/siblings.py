"""Tells which chips a text is about, where it names others than its target: only the target's numbers are its facts."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from kb.targets import ROOT, Targets
from kb.types.spellings import without

SHORTEST = 4
"""Least letters and digits of a name by which a chip of another family is found: `M4` means many things."""
LISTED, MOST_READ = 3, 2000
"""Passages that list the beginning of a series' names with its chips, so that it is a chip too, and passages read."""

_ALIKE = re.compile(r"([a-z]{2,})[-_. ]?(\d+)[a-z]*|([a-z]{2,}(?:\d+[-_. ]?|[-_. ]))([a-z]{1,2}\d+)[a-z]*")
"""Names whose beginning a whole series has: the letters of VX10 and VX12, or what QX7-A2 and QX7-B1 begin with. Behind
it stands the member: `10`, `a2`."""
_MEMBER = r"[a-z]{1,2}\d{1,3}"
_NOT_ALL = r"(?![-_][a-z0-9]|(?: [\w-]+)? (?:famil|series|chips|socs|devices|boards|products|targets|mcus)|-based)"
ONLY_NAMES = re.compile(r"(?:on|for|in|of|with|only|the|and|or|both|all|chip|[\W_])*", re.IGNORECASE)
"""What stands beside the names in a text that only names chips."""
_CONTRAST = re.compile(
    r"(?:unlike|than|like|not|(?:differ\w*|port|ported|migrat\w+|upgrad\w+|compared|comparable|contrast|opposed"
    r"|identical|similar|compatible|successor|predecessor|derived|based|instead|rather|other|carried over|stated)\s+"
    r"(?:from|to|with|of|on|than|between|for)|(?:same|just|not)\s+(?:as|on|for|with)(?:\s+(?:in|on|for))?)"
    r"[\s(]+(?:(?:the|that|those|of|its|on|in|for|with|an?|older|earlier|previous|predecessor|sibling|chip|family)\s+){0,4}$",
    re.IGNORECASE,
)
"""Text before the name of a chip that is only compared with, or from whose text a number was taken."""
_VERSUS = re.compile(r"\b(?:vs\.?|versus)\s+(?:the\s+)?$", re.IGNORECASE)
_WITH_NUMBER = re.compile(r"(?:(?!\b(?:and|but|whereas|while)\b)[^,;.()])*?\d")
"""The rest of a clause with a number: behind `vs. the VX12` it is a number of the VX12."""
_JOINS = re.compile(r"\s*(?:,|/|&|\band\b|\bor\b|,\s*(?:and|or)\b)\s*(?:the\s+)?")


@dataclass(frozen=True, slots=True)
class Mention:
    """A chip or family that a text names."""

    start: int
    end: int
    name: str
    """Name of a target, or what the text calls a chip that kb does not know, in small letters."""
    contrast: bool = False
    """Whether the text only compares with it: `unlike the VX12`."""


class Siblings:
    """Finds siblings of one target in texts.

    A sibling is another target of its family, another that the home added, or a chip elsewhere with a telling name. If
    the home added the target, another product of its series is one too, even if kb does not know it.
    """

    def __init__(self, targets: Targets, name: str) -> None:
        self.own = own = targets.get(name).name
        self._targets = targets
        self.known = frozenset(target.name for target in targets)
        self._scope = targets.scope(own) - {ROOT}
        self._above = targets.lineage(own)[1:]
        self._chips = {name for name in self._scope - {own, *self._above} if not _is_cpu(targets, name)}
        """Those below it, without the CPUs: the name of a CPU's architecture may be that of an extension."""
        self._find = targets.finder(self._scope | _others(targets, own))
        self._alike = _alike(targets, own) if targets.is_own(own) else None
        own_names = filter(None, map(_ALIKE.fullmatch, _names(targets, self._scope)))
        self._members = {match[2] or match[4] for match in own_names}
        self.begins_chip = False
        """Whether the beginning of the names of its series is always the name of a chip."""
        self.mentions = lru_cache(1 << 12)(self._mentions)

    def _mentions(self, text: str) -> tuple[Mention, ...]:
        """What `text` names, in order."""
        known = [Mention(*place) for place in self._find(text)]
        taken = {at for mention in known for at in range(mention.start, mention.end)}
        found = [*known, *(mention for mention in self.unknown(text) if mention.start not in taken)]
        return tuple(_contrasted(text, sorted(found, key=lambda mention: mention.start)))

    def unknown(self, text: str) -> list[Mention]:
        """The chips of the same series that `text` names, whether or not kb knows them.

        The beginning alone (QX7) may also mean the series: it is a chip if the documents list it with others, if others
        stand beside it, or if the text says no more. A series of the target (QX7-A2xx, VX1x) stands for the target.
        """
        named = list(self._alike.finditer(text)) if self._alike else []
        is_chip = self.begins_chip or any(match.lastindex for match in named)
        if not is_chip and not ONLY_NAMES.fullmatch(without(text, (match.span() for match in named))):
            return []
        members = ((match, f"{match[1] or match[2] or ''}{match[3] or ''}".lower().split("/")) for match in named)
        return [
            Mention(*match.span(), self.own if any(map(self._is_own, those)) else match.group().lower())
            for match, those in members
        ]

    def _is_own(self, member: str) -> bool:
        return bool(member) and any(own.startswith(member) for own in self._members)

    def lists_beginning(self, text: str) -> bool:
        """Whether `text` lists the beginning of the series' names as one of its chips: `QX7, QX7-A2`."""
        named = pairwise(self._alike.finditer(text)) if self._alike else ()
        unlike = ((a, b) for a, b in named if bool(a.lastindex) != bool(b.lastindex))
        return any(_JOINS.fullmatch(text, a.end(), b.start()) for a, b in unlike)

    def named(self, text: str) -> frozenset[str] | None:
        """The siblings that `text` is about, none if it also names the target; None if it names no chip."""
        named = [mention for mention in self.mentions(text) if not mention.contrast]
        return self.among(named) if named else None

    def among(self, mentions: Iterable[Mention]) -> frozenset[str]:
        """The siblings among what a text names; none if it also names a relative that only the target has."""
        named = {mention.name for mention in mentions}
        found = named - self._scope
        lineages = (self._targets.lineage(name) if self._targets.find(name) else self._above for name in found)
        shared = {ancestor for lineage in lineages for ancestor in lineage}
        return frozenset() if named - found - shared else frozenset(found)

    def below_own(self, path: str) -> list[str]:
        """The folders and the file of a `path` below the innermost folder that names the target or its family.

        They are none if no folder names it: the user named the target of the document.
        """
        parts = path.split("/")
        named = (self._targets.find(folder) for folder in parts[:-1])
        own = [n for n, target in enumerate(named) if target and target.name in self._scope]
        return parts[own[-1] + 1 :] if own else []

    def of_headings(self, titles: Sequence[str]) -> frozenset[str]:
        """The siblings that the innermost of `titles` (outermost first) which names a chip is about."""
        return next((named for title in reversed(titles) if (named := self.named(title)) is not None), frozenset())

    def owners(self, titles: Sequence[str]) -> tuple[str, ...]:
        """The chips whose numbers stand below headings, by the innermost heading that names a chip; sorted by name.

        A chip of the family that is the target owns what is said of it, but not all of a document whose title names it.
        Several names stand for several owners; what kb knows no target for is given as the text calls it.
        """
        for title in reversed(titles):
            if named := {mention.name for mention in self.mentions(title) if not mention.contrast}:
                below = named & self._chips if title != titles[0] else None
                return tuple(sorted(self.named(title) or below or {self.own}))
        return (self.own,)

    def without_names(self, text: str) -> str:
        """`text` with blanks instead of all that it names."""
        return without(text, ((mention.start, mention.end) for mention in self.mentions(text)))


@lru_cache(maxsize=64)
def siblings_of(targets: Targets, name: str, texts_with: Callable[..., list[str]] | None = None) -> Siblings:
    """The siblings of a target, cached: they need a large pattern.

    Args:
        texts_with: That of a catalog, whose documents tell what the beginning of the series' names means.
    """
    siblings = Siblings(targets, name)
    if texts_with and (match := _ALIKE.fullmatch(siblings.own)) and match[3] and targets.is_own(name):
        texts = texts_with([match[3].rstrip("-_. ")], targets=targets.scope(name), limit=MOST_READ)
        siblings.begins_chip = sum(map(siblings.lists_beginning, texts)) >= LISTED
    return siblings


def _others(targets: Targets, own: str) -> set[str]:
    """Targets whose names may tell a sibling: no makers, and no CPU, which may be a part of any other chip."""
    parents = {target.parent for target in targets}
    family = targets.family(own)
    found = set(family)
    for target in targets:
        is_maker = target.parent in (ROOT, None) and target.name in parents
        telling = targets.is_own(target.name) or min(map(len, _names(targets, [target.name]))) >= SHORTEST
        if telling and not is_maker and not _is_cpu(targets, target.name):
            found.add(target.name)
    return found - {ROOT}


def _is_cpu(targets: Targets, name: str) -> bool:
    isa = targets.isa(name)
    return isa is not None and isa.is_cpu


def _names(targets: Targets, names: Iterable[str]) -> list[str]:
    return [spelling.lower() for name in names for spelling in (name, *targets.get(name).aliases)]


def _alike(targets: Targets, own: str) -> re.Pattern[str] | None:
    """A pattern for names of the series of `own`: its groups are number, suffix, and further suffixes (`QX7-B1/B2`)."""
    found = [match for name in _names(targets, [own]) if (match := _ALIKE.fullmatch(name))]
    letters, stems = ({re.escape(m[n].rstrip("-_. ")) for m in found if m[n]} for n in (1, 3))
    alone = {stem for stem in stems if stem[-1].isdigit()}
    one, two, three = ("|".join(sorted(names)) or "(?!)" for names in (letters, stems, alone))
    named = rf"(?:{one})[-_]?(\d+)[a-z]*|(?:{two})[-_]?({_MEMBER})[a-z]*((?:/{_MEMBER})*)|(?:{three}){_NOT_ALL}"
    return re.compile(rf"(?<![a-z0-9])(?:{named})(?![a-z0-9])", re.IGNORECASE) if found else None


def _contrasted(text: str, mentions: Iterable[Mention]) -> Iterable[Mention]:
    """The mentions, of which those that are only compared with are marked; `unlike A and B` marks both."""
    last = None
    for mention in mentions:
        joined = last and last.contrast and _JOINS.fullmatch(text, last.end, mention.start)
        before = max(0, mention.start - 80), mention.start
        versus = _VERSUS.search(text, *before)
        begins = versus and not re.search(r"\w[^.!?]*$", text[: versus.start()])
        only_beside = versus and (begins or not _WITH_NUMBER.match(text, mention.end))
        contrast = bool(joined or only_beside or _CONTRAST.search(text, *before))
        last = Mention(mention.start, mention.end, mention.name, contrast)
        yield last
