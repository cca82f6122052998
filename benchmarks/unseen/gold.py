"""What a perfect answer to a seed's documents holds: facts, questions, and the planted contradictions."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from random import Random

from benchmarks.unseen import kernels
from benchmarks.unseen.instructions import Op, Unit
from benchmarks.unseen.kernels import KERNELS
from benchmarks.unseen.manual.changes import FEATURES
from benchmarks.unseen.manual.guides import ADVICE
from benchmarks.unseen.manual.library import Library, Trap
from benchmarks.unseen.manual.meanings import ASKED_MEANINGS
from benchmarks.unseen.manual.scribe import Place
from benchmarks.unseen.manual.statements import Fact, names_of
from benchmarks.unseen.manual.wording import Wording
from kb.facts.quantities import NAME

QUESTIONS = 60
TIMES_ASKED = 8
CHAPTER_OF = {Unit.CROSS: "lanes", Unit.MATRIX: "matrix", Unit.ENGINES: "transfers"}
"""The chapter about a unit; the other units have no numbers but times."""
NOWHERE = (
    "[Hit latency|How long is the hit latency] of the L2 cache of {chip}?",
    "How many threads can one core of {chip} [keep in flight|run at a time]?",
    "[Which peak rate|How many TFLOP/s] does {chip} reach with bfloat16?",
    "[Capacity|How large is the capacity] of the instruction cache of {chip}?",
    "Which rounding modes can {lanes} be [switched to|set to]?",
    "How many {chip} can be linked in a ring, and [at what bandwidth|how fast is the ring]?",
    "How [deep|long] is the history of the branch predictor of {chip}?",
    "[At what rate does|How fast does] {matrix} multiply int8 with 2:4 sparsity?",
    "[What does an atomic addition to {outer} cost|How long does an atomic addition to {outer} take]?",
    "How many predicate registers has {chip}, and [how wide are they|what is their width]?",
)
"""Questions that no document answers."""


def facts(library: Library) -> list[dict]:
    """All facts that hold, in the form of kb's facts, each with the passages that state it.

    Rules, which are not numbers, have the words that decide them as the value, and the unit `name`.
    """
    places = _by_key(library.places)
    return [_gold_fact(library, fact, places[key]) for key, fact in library.facts.items()]


def _gold_fact(library: Library, fact: Fact, places: Sequence[Place]) -> dict:
    return {
        "id": fact.key,
        "target": library.chip.names.chip,
        **called(fact),
        "subject": fact.subject,
        "value": places[0].value,
        "unit": Wording(library.chip.seed, "").habits.get(fact.unit, fact.unit) or NAME,
        "evidence": [asdict(place) for place in places],
    }


def called(fact: Fact) -> dict[str, str]:
    """The quantity and condition under which a reader who knows kb's names files a fact."""
    if fact.chapter == "timing":
        return {"quantity": f"{fact.key.partition('.')[2]}_cycles", "condition": fact.subject}
    return {"quantity": fact.quantity or fact.key.replace(".", "_"), "condition": ""}


def contradictions(library: Library) -> list[dict]:
    """The places in documents of the chip that contradict what holds."""
    traps = ((trap, place) for trap, places in library.traps.items() for place in places if trap is not Trap.SIBLING)
    return [{"id": place.key, "kind": trap} | asdict(place) for trap, place in traps]


def needed(library: Library) -> dict[str, list[str]]:
    """For each task the ids of the facts on which the expert program for it rests.

    Those are the times of its instructions, and the numbers and rules of the units and memories that they use.
    """
    chip = library.chip
    ops = {instruction.name: op for op, instruction in chip.instructions.items()}
    found = {}
    for task in KERNELS:
        names = {line.split()[0] for line in kernels.expert(chip, task).splitlines() if line.strip()}
        used = {ops[name] for name in names if name in ops}
        units = {chip.instructions[op].unit for op in used}
        chapters = {"registers", "scratchpad", "host", "hazards"} | {
            CHAPTER_OF[unit] for unit in units & CHAPTER_OF.keys()
        }
        found[task] = [
            key
            for key, fact in library.facts.items()
            if fact.chapter in chapters or (fact.chapter == "timing" and Op(key.partition(".")[0]) in used)
        ]
    return found


def questions(library: Library) -> list[dict]:
    """QUESTIONS questions, a fifth of which the documents of the chip do not answer."""
    return list(_Examiner(library).questions())


class _Examiner:
    def __init__(self, library: Library) -> None:
        self._library = library
        self._seed = library.chip.seed
        self._style, self._other = (Wording(self._seed, part) for part in ("questions", "phrasings"))
        self._places = _by_key(library.places)
        self._traps = {trap: _by_key(places) for trap, places in library.traps.items()}
        self._number = 0

    def questions(self) -> Iterator[dict]:
        chance, known = Random(f"{self._seed} questions"), self._library.facts
        corrected = [key for key in known if any("errata" in place.path for place in self._places[key])]
        plain = [fact for key, fact in known.items() if key not in corrected]
        numbers = [fact for fact in plain if fact.in_tables and fact.chapter != "timing"]
        rules = [fact for fact in plain if not fact.in_tables]
        times = [fact for fact in plain if fact.chapter == "timing" and fact.value != "1"]
        for fact in map(known.__getitem__, corrected):
            yield self._about(fact, "erratum")
        for fact in rules:
            yield self._about(fact, "constraint")
        for fact in chance.sample(times, TIMES_ASKED):
            yield self._about(fact, "instruction")
        for op, asks in ASKED_MEANINGS.items():
            yield self._question("instruction", asks, f"{op}.meaning", "")
        for key, (_, asks) in ADVICE.items():
            yield self._question("guidance", asks, f"advice.{key}", "")
        for asks in chance.sample(NOWHERE, len(FEATURES)):
            yield self._question("unanswerable", asks, "", "")
        for key, _, asks, *_ in FEATURES:
            yield self._question("unanswerable", asks, f"feature.{key}", "")
        for fact in chance.sample(numbers, QUESTIONS - self._number):
            yield self._about(fact, "confusable" if fact.key in self._traps[Trap.SIBLING] else "fact")

    def _about(self, fact: Fact, kind: str) -> dict:
        keywords = f"{fact.subject} {self._other.say(fact.label)}"
        return self._question(kind, fact.asks, fact.key, keywords, fact.names)

    def _question(
        self, kind: str, asks: str, key: str, keywords: str, names: Mapping[str, object] | None = None
    ) -> dict:
        self._number += 1
        names = names or names_of(self._library.chip)
        query, other = self._style.say(asks, **names), self._other.say(asks, **names)
        return {
            "id": f"{names['chip'].lower()}-{self._number:02}",
            "target": names["chip"],
            "kind": kind,
            "key": key,
            "query": query,
            "phrasings": [text for text in dict.fromkeys((other, keywords)) if text not in ("", query)],
            "evidence": _passages(self._places.get(key, ())),
            "traps": {trap: _passages(places[key]) for trap, places in self._traps.items() if key in places},
        }


def _passages(places: Iterable[Place]) -> list[dict]:
    return [{"path": place.path, "must": place.must} for place in places]


def _by_key(places: Iterable[Place]) -> dict[str, list[Place]]:
    found = defaultdict(list)
    for place in places:
        found[place.key].append(place)
    return dict(found)
