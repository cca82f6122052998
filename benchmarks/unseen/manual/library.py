"""All documents of a seed, and where they state which facts."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from itertools import islice
from pathlib import PurePosixPath
from random import Random

from benchmarks.unseen import kernels
from benchmarks.unseen.chip import Chip, as_printed, chip, former, sibling
from benchmarks.unseen.manual import changes, chapters, filler, guides
from benchmarks.unseen.manual.document import Block, Document, Format
from benchmarks.unseen.manual.scribe import Manner, Place, Scribe
from benchmarks.unseen.manual.statements import NUMBERS, Fact, facts
from benchmarks.unseen.manual.wording import Wording
from benchmarks.unseen.words import words

FIRST_FILLER_WORD = 128
"""The words before it are those of the chip, its sibling and the earlier revision."""
MANNERS = tuple(map(frozenset, ({Manner.PROSE}, {Manner.TABLE}, {Manner.CSV}, {Manner.PROSE, Manner.TABLE})))
"""How a chip's reference states one of its numbers; each is equally likely."""
TEXT_FORMATS = [one for one in Format if one is not Format.CSV]
NUMBERED = [row[0] for rows in NUMBERS.values() for row in rows]
Write = Callable[[Scribe], Iterable[Block]]
EXAMPLE = "scaled-add"
"""The task of the program in the guide."""
VERSIONS = ("2.4 (2031-09)", "2.3 (2031-06)", "2.0 (2030-11)", "1.0 (2030-02)")
ERRATA_VERSION, VERSION, *_ = VERSIONS
DRAFT_VERSION = "0.7 (2029-03)"
SHOWN, TOLD = 6, 3
"""Numbers that the overview and the release notes repeat, and of which some are wrong there."""
WRONG_SHOWN, WRONG_TOLD = 2, 1
WRONG = "wrong "
"""Before the key of a fact, where a document contradicts the reference."""


class Trap(StrEnum):
    """Why a passage is no answer about the chip."""

    MISPRINT = "misprint"
    """The errata correct it."""
    REPEATED = "repeated wrongly"
    """The overview or the release notes contradict the reference."""
    DRAFT = "draft"
    """An earlier draft has other names and numbers."""
    SIBLING = "sibling"


@dataclass(frozen=True)
class Library:
    chip: Chip
    documents: tuple[Document, ...]
    facts: dict[str, Fact]
    """What holds, by key."""
    places: tuple[Place, ...]
    """Where documents of the chip state what holds."""
    traps: Mapping[Trap, tuple[Place, ...]]
    """Where documents state something else under the same key."""


class _Shelf:
    """The documents of one chip below one folder."""

    def __init__(self, of: Chip, folder: PurePosixPath, part: str, formats: Iterator[Format]) -> None:
        self.chip, self.folder, self.part, self.formats = of, folder, part, formats
        self.documents: list[Document] = []
        self.places: list[Place] = []
        self.facts = list(facts(of))
        self.by_chapter: dict[str, list[Fact]] = defaultdict(list)
        for fact in self.facts:
            self.by_chapter[fact.chapter].append(fact)
        chance = Random(f"{of.seed} {part} manners")
        self._manners = defaultdict(lambda: frozenset({Manner.PROSE}))
        self._manners |= {fact.key: chance.choice(MANNERS) for fact in self.facts if fact.in_tables}

    def add(self, file: str, title: str, write: Write, *, edition: str = VERSION, sheet: bool = False) -> None:
        """Write a document; `file` and `title` may have choices."""
        style = Wording(self.chip.seed, f"{self.part} {title}")
        path = self.folder / f"{style.say(file).lower()}.{Format.CSV if sheet else next(self.formats)}"
        scribe = Scribe(self.chip, path, style, self._manners)
        blocks = tuple(write(scribe))
        self.documents.append(Document(path, scribe.said(title), edition, blocks))
        self.places += scribe.places

    def add_reference(self) -> None:
        timing = self.by_chapter["timing"]
        rest = [fact for fact in self.facts if fact not in timing]
        self.add(
            "[architecture|hardware]", "{chip} architecture", lambda by: chapters.architecture(by, self.by_chapter)
        )
        self.add("[instructions|isa]", "{chip} instruction reference", lambda by: chapters.instructions(by, timing))
        self.add("[times|timing]", "{chip} times", lambda by: [by.sheet(timing)], sheet=True)
        self.add("[limits|numbers]", "{chip} limits", lambda by: [by.sheet(rest)], sheet=True)


def library(seed: int) -> Library:
    """All documents of a seed."""
    actual = chip(seed)
    chance = Random(f"{seed} library")
    formats = _formats(chance)
    word = partial(next, islice(words(seed), FIRST_FILLER_WORD, None))
    family = PurePosixPath(actual.names.family.lower())
    holds = {fact.key: fact for fact in facts(actual)}
    own = _Shelf(as_printed(actual), family / actual.names.chip.lower(), "chip", formats)
    printed = {fact.key: fact for fact in own.facts}
    corrected = {key: fact for key, fact in holds.items() if key not in printed or fact.says != printed[key].says}
    _add_manuals(
        own,
        kernels.naive(actual, EXAMPLE),
        _repeated(own.chip, [key for key in printed if key not in corrected], chance),
    )
    printed_places, own.places = own.places, []
    own.add("errata", "{chip} errata", lambda by: changes.errata(by, printed, corrected), edition=ERRATA_VERSION)
    _add_filler(own, word)
    draft = former(actual)
    draft = replace(draft, names=replace(draft.names, chip=actual.names.chip))
    old = _Shelf(draft, own.folder / "draft-v0.7", "former", formats)
    old.add(
        "[reference|handbook]", "{chip} reference, draft", lambda by: _draft(by, old.by_chapter), edition=DRAFT_VERSION
    )
    beside = _sibling(sibling(actual), family, formats, word)
    right = [place for place in printed_places if place.key not in corrected and WRONG not in place.key] + own.places
    return Library(
        actual,
        (*own.documents, *old.documents, *beside.documents),
        holds,
        tuple(right),
        {
            Trap.MISPRINT: tuple(place for place in printed_places if place.key in corrected),
            Trap.REPEATED: tuple(
                replace(place, key=place.key.removeprefix(WRONG)) for place in printed_places if WRONG in place.key
            ),
            Trap.DRAFT: _differing(old, holds, right),
            Trap.SIBLING: _differing(beside, holds, right),
        },
    )


def _differing(shelf: _Shelf, holds: Mapping[str, Fact], right: Iterable[Place]) -> tuple[Place, ...]:
    """The places of a shelf that do not state what holds."""
    same = {fact.key for fact in shelf.facts if fact.key in holds and fact.says == holds[fact.key].says}
    stated = {(place.key, place.must) for place in right}
    return tuple(place for place in shelf.places if place.key not in same and (place.key, place.must) not in stated)


def _add_manuals(shelf: _Shelf, example: str, repeated: Sequence[Fact]) -> None:
    shown, told = repeated[:SHOWN], repeated[SHOWN:]
    shelf.add("[overview|introduction]", "{chip} overview", lambda by: chapters.overview(by, shown))
    shelf.add_reference()
    dangers = shelf.by_chapter["hazards"]
    shelf.add("[guide|programming]", "{chip} programming guide", lambda by: guides.guide(by, dangers, example))
    shelf.add("[performance|tuning]", "{chip} performance guide", guides.performance)
    shelf.add("release-notes", "{chip} release notes", lambda by: changes.release_notes(by, VERSIONS, told))


def _add_filler(shelf: _Shelf, word: Callable[[], str]) -> None:
    name = shelf.chip.names.chip
    shelf.add("[board|card]", "{chip} board", lambda by: filler.board(by.style, name))
    shelf.add("package", "{chip} package", lambda by: filler.package(by.style, name))
    shelf.add("[registers|register-map]", "{chip} register map", lambda by: filler.register_map(by.style, word))
    shelf.add("[diagnostics|service]", "{chip} diagnostics", lambda by: filler.diagnostics(by.style))
    shelf.add("[driver|host]", "{chip} host driver", lambda by: filler.host_driver(by.style, name.lower()[:3]))


def _draft(by: Scribe, facts: Mapping[str, Sequence[Fact]]) -> list[Block]:
    return [
        *chapters.architecture(by, facts),
        *guides.hazards(by, facts["hazards"]),
        *chapters.instructions(by, facts["timing"]),
    ]


def _sibling(of: Chip, family: PurePosixPath, formats: Iterator[Format], word: Callable[[], str]) -> _Shelf:
    shelf = _Shelf(of, family / of.names.chip.lower(), "sibling", formats)
    shelf.add(
        "[overview|introduction]", "{chip} overview", lambda by: chapters.overview(by, shelf.by_chapter["registers"])
    )
    shelf.add_reference()
    dangers = shelf.by_chapter["hazards"]
    shelf.add(
        "[guide|notes]",
        "{chip} programming notes",
        lambda by: [*guides.hazards(by, dangers), *changes.features(by, word)],
    )
    return shelf


def _repeated(of: Chip, keys: Sequence[str], chance: Random) -> list[Fact]:
    """Facts that the overview and the release notes repeat; some of each contradict the reference."""
    numbers = [key for key in keys if key in NUMBERED]
    chosen = chance.sample(numbers, SHOWN + TOLD)
    wrong = {*chosen[:WRONG_SHOWN], *chosen[-WRONG_TOLD:]}
    return [_contradiction(of, key, chance) if key in wrong else _fact(of, key) for key in chosen]


def _fact(of: Chip, key: str) -> Fact:
    return next(fact for fact in facts(of) if fact.key == key)


def _contradiction(of: Chip, key: str, chance: Random) -> Fact:
    """The fact of a chip that differs in this number."""
    part, name = key.split(".")
    own = getattr(of, part)
    choices = own.__dataclass_fields__[name].metadata["choices"]
    value = chance.choice([choice for choice in choices if choice != getattr(own, name)])
    other = replace(of, **{part: replace(own, **{name: value})})
    return replace(_fact(other, key), key=WRONG + key)


def _formats(chance: Random) -> Iterator[Format]:
    """The formats of documents, each equally often."""
    while True:
        yield from chance.sample(TEXT_FORMATS, len(TEXT_FORMATS))
