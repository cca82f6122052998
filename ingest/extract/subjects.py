"""Of which target a text speaks: the chips and families it names, and products that kb does not know."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from kb.targets import ROOT, Targets

UNKNOWN = ""
"""In place of a target: a product that is none of kb's targets. Nothing that is said of it holds for another."""

_CAPABILITY = re.compile(r"(?i:compute capability|\bcc)\s*(\d+)\.(\d)")
_LANGUAGES = {"cuda", "rocm"}
"""Other names of targets that in texts mean what their programs are written in."""
_BARE_CAPABILITY = re.compile(r"(?<![\d.])(\d{1,2})\.(\d)(?![\d.])")
_VARIANT = re.compile(r"[\s-]?v\d\w*|[\s-](?:Pro|Max|Ultra|PCIe|NVL|Ti|Super|Lite|Mini|Plus)\b")
"""Behind a name it makes another product of it."""
_PRODUCT = re.compile(
    r"(?<![\w-])(?:[A-Z]{1,3}\d{2,4}[A-Z]{0,2}|MI\d{2,3}[A-Z]?|RTX ?\d+|GTX ?\d+|Radeon|GeForce|Xeon|EPYC)(?![\w-])"
)
_TECHNICAL = re.compile(
    r"(?:FP|BF|TF|XF|INT|UINT|HBM|DDR|SM|SVE|SSE|AVX|ISA|EXP|ROM|RAM|GB|MB|KB|GPR|[XYZT]MM|[FUIBSWQX])\d+[A-Z]*"
    r"|[B-KM-Z]\d{2}|A(?:32|64)|GDDR\d|MX\w+"
)
"""What looks like a product and is a type, a memory, a register."""


@dataclass(frozen=True, slots=True)
class Named:
    start: int
    end: int
    target: str
    compared: bool = False
    """Whether something else is only compared with it."""


class Subjects:
    """For the documents of one target.

    CPU architectures that documents of other chips name are those of cores inside: they do not count there.
    """

    def __init__(self, targets: Targets, own: str) -> None:
        self.own = own
        self.above = frozenset(targets.lineage(own)[1:])
        """The families that the target of the document belongs to."""
        self._targets = targets
        family = targets.family(own)
        foreign = {t.name for t in targets if (isa := targets.isa(t.name)) and isa.is_cpu} - family
        self._finder = targets.finder(t.name for t in targets if t.name not in foreign | {ROOT})
        self._family = family
        self._makers = {t.name for t in targets if t.parent == ROOT} - family

    def named(self, text: str) -> list[Named]:
        """Every mention of a target, in order, and of products that are none."""
        found = self._known(text)
        taken = {at for n in found for at in range(n.start, n.end)}
        found += [
            Named(match.start(), match.end(), target.name)
            for match in _CAPABILITY.finditer(text)
            if (target := self._targets.find(f"sm_{match[1]}{match[2]}"))
        ]
        for match in _PRODUCT.finditer(text):
            if match.start() not in taken and not _TECHNICAL.fullmatch(match.group()):
                found.append(Named(match.start(), match.end(), UNKNOWN))
        return sorted(found, key=lambda n: n.start)

    def _known(self, text: str) -> list[Named]:
        """Targets alone. Another maker's name beside one of the document's own chips is only who makes it."""
        found = [
            Named(start, end, UNKNOWN if _VARIANT.match(text, end) else target)
            for start, end, target in self._finder(text)
            if text[start:end].lower() not in _LANGUAGES
        ]
        if any(named.target in self._family for named in found):
            return [named for named in found if named.target not in self._makers]
        return [Named(n.start, n.end, UNKNOWN) if n.target in self._makers else n for n in found]

    def families_of(self, names: Iterable[str]) -> frozenset[str]:
        return frozenset(a for name in names if name for a in self._targets.lineage(name)[1:])

    def all_of(self, text: str) -> tuple[str, ...]:
        """The most specific targets that a text names."""
        return self.most_specific(named.target for named in self.named(text))

    def without_names(self, text: str) -> str:
        """With blanks in place of what it names."""
        for named in self.named(text):
            text = text[: named.start] + " " * (named.end - named.start) + text[named.end :]
        return text

    def capabilities(self, text: str) -> list[str]:
        """Targets of bare compute capabilities: `9.0`. A number that is no capability kb knows is `UNKNOWN`."""
        found = [self._targets.find(f"sm_{major}{minor}") for major, minor in _BARE_CAPABILITY.findall(text)]
        return [t.name if t else UNKNOWN for t in found]

    def most_specific(self, names: Iterable[str]) -> tuple[str, ...]:
        """Those of which none is an ancestor of another."""
        distinct = tuple(dict.fromkeys(names))
        return tuple(n for n in distinct if n not in self.families_of(distinct))

    def of_headings(self, titles: Iterable[str]) -> tuple[str, ...]:
        """Of the innermost heading that names targets, and of the chip above it if that names only its family."""
        names: tuple[str, ...] = ()
        for title in titles:
            names = self.narrowed(self.all_of(title), names) or names
        return names

    def narrowed(self, names: Iterable[str], around: Iterable[str]) -> tuple[str, ...]:
        """Without the families of what stands around."""
        wider = self.families_of(around)
        return tuple(name for name in names if name not in wider)


@lru_cache(maxsize=64)
def subjects_of(targets: Targets, own: str) -> Subjects:
    """For all documents of one target: to find names takes a large pattern."""
    return Subjects(targets, own)
