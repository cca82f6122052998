"""Find which targets a text is about: the chips and families it names, and products that kb does not know."""

import re
from collections.abc import Iterable
from functools import lru_cache

from kb.facts.quantities import CACHED_TEXTS
from kb.siblings import Mention, siblings_of
from kb.targets import ROOT, Targets
from kb.types.spellings import without

UNKNOWN = ""
"""Stands for a product that is not one of kb's targets. Its facts are given to no other target."""

_CAPABILITY = re.compile(r"(?i:compute capability|\bcc)\s*(\d+)\.(\d)")
_LANGUAGES = {"cuda", "rocm"}
"""Other names of targets that in a text usually mean a programming language."""
_BARE_CAPABILITY = re.compile(r"(?<![\d.])(\d{1,2})\.(\d)(?![\d.])")
_VARIANT = re.compile(r"[\s-]?v\d\w*|[\s-](?:Pro|Max|Ultra|PCIe|NVL|Ti|Super|Lite|Mini|Plus)\b")
"""Suffix that turns the name of a target into that of another product."""
_PRODUCT = re.compile(
    r"(?<![\w-])(?:[A-Z]{1,3}\d{2,4}[A-Z]{0,2}|MI\d{2,3}[A-Z]?|RTX ?\d+|GTX ?\d+|Radeon|GeForce|Xeon|EPYC)(?![\w-])"
)
_TECHNICAL = re.compile(
    r"(?:FP|BF|TF|XF|INT|UINT|HBM|DDR|SM|SVE|SSE|AVX|ISA|EXP|ROM|RAM|GB|MB|KB|GPR|[XYZT]MM|[FUIBSWQX])\d+[A-Z]*"
    r"|[B-KM-Z]\d{2}|A(?:32|64)|GDDR\d|MX\w+"
)
"""Words that look like a product's name but mean a data type, a memory or a register."""


class Subjects:
    """Finds targets in the documents of one target.

    Documents about other chips name CPU architectures for the cores inside these chips: they are ignored there.
    """

    def __init__(self, targets: Targets, own: str) -> None:
        self.own = own
        self.above = frozenset(targets.lineage(own)[1:])
        """The families of the document's target."""
        self._targets = targets
        family = targets.family(own)
        foreign = {t.name for t in targets if (isa := targets.isa(t.name)) and isa.is_cpu} - family
        self._finder = targets.finder(t.name for t in targets if t.name not in foreign | {ROOT})
        self._family = family
        parents = {t.parent for t in targets}
        self._makers = {t.name for t in targets if t.parent == ROOT and t.name in parents} - family
        self._siblings = siblings_of(targets, own)
        self.named = lru_cache(CACHED_TEXTS)(self._named)

    def _named(self, text: str) -> tuple[Mention, ...]:
        """Return every mention of a target or of an unknown product, in order."""
        found = self._known(text)
        taken = {at for n in found for at in range(n.start, n.end)}
        found += [
            Mention(match.start(), match.end(), target.name)
            for match in _CAPABILITY.finditer(text)
            if (target := self._targets.find(f"sm_{match[1]}{match[2]}"))
        ]
        products = [m.span() for m in _PRODUCT.finditer(text) if not _TECHNICAL.fullmatch(m.group())]
        products += [(m.start, m.end) for m in self._siblings.unknown(text) if m.name != self.own]
        found += [Mention(start, end, UNKNOWN) for start, end in dict(products).items() if start not in taken]
        return tuple(sorted(found, key=lambda n: n.start))

    def _known(self, text: str) -> list[Mention]:
        """Return mentions of targets. Beside a chip of the document's family, the name of another maker is ignored."""
        found = [
            Mention(start, end, UNKNOWN if _VARIANT.match(text, end) else target)
            for start, end, target in self._finder(text)
            if text[start:end].lower() not in _LANGUAGES
        ]
        if any(named.name in self._family for named in found):
            return [named for named in found if named.name not in self._makers]
        return [Mention(n.start, n.end, UNKNOWN) if n.name in self._makers else n for n in found]

    def _families_of(self, names: Iterable[str]) -> frozenset[str]:
        return frozenset(a for name in names if name for a in self._targets.lineage(name)[1:])

    def without_names(self, text: str) -> str:
        """Return `text` with blanks in place of each mention."""
        return without(text, ((named.start, named.end) for named in self.named(text)))

    def capabilities(self, text: str) -> list[str]:
        """Return the targets of bare compute capabilities such as `9.0`; `UNKNOWN` for each that kb does not know."""
        found = [self._targets.find(f"sm_{major}{minor}") for major, minor in _BARE_CAPABILITY.findall(text)]
        return [t.name if t else UNKNOWN for t in found]

    def most_specific(self, names: Iterable[str]) -> tuple[str, ...]:
        """Drop each name that is an ancestor of another."""
        distinct = tuple(dict.fromkeys(names))
        return tuple(n for n in distinct if n not in self._families_of(distinct))

    def of_headings(self, titles: Iterable[str]) -> tuple[str, ...]:
        """Return the targets that the innermost heading names; a family named below its chip stands for that chip."""
        names: tuple[str, ...] = ()
        for title in titles:
            wider, inner = self._families_of(names), self.most_specific(named.name for named in self.named(title))
            names = tuple(name for name in inner if name not in wider) or names
        return names


@lru_cache(maxsize=64)
def subjects_of(targets: Targets, own: str) -> Subjects:
    """Return the cached subjects for all documents of one target: they need a large pattern."""
    return Subjects(targets, own)
