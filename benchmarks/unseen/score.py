"""Scores kb on a seed without a model: retrieval, and facts by kb's rules and by simulated readers.

Everything is measured in a temporary home. Intervals are over seeds.
"""

import json
import random
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import fmean, quantiles
from tempfile import TemporaryDirectory
from typing import NamedTuple

from benchmarks.unseen.gold import facts as gold_facts
from benchmarks.unseen.make import DOCUMENTS, QUESTIONS, make
from benchmarks.unseen.manual.library import Library, Trap, library
from benchmarks.unseen.manual.scribe import Place
from kb.bench.answers import Response
from kb.bench.questions import GoldPassage, Question, load_questions
from kb.bench.retrieval import measure
from kb.facts.resolution import FactStanding
from kb.settings import NO_MODEL, Settings
from kb.types.fact import Fact, FactAnswer, RefusedAnswer
from kb.types.records import Form
from kb.usecases.knowledge_base import KnowledgeBase

FIRST = 5
"""Leading hits in which a trap is looked for."""
RESAMPLES = 2000
SHOWN = ("hit@1", "hit@5", "within 1000", "within 2000", "within 4000", "refused", "abstained", "wrong target")


class Scored(NamedTuple):
    """The result of a seed."""

    scores: dict[str, float]
    misses: list[dict]
    """What went wrong, one by one."""


class Made(NamedTuple):
    library: Library
    folder: Path
    home: Path


@contextmanager
def ingested(seed: int, **settings: str) -> Iterator[Made]:
    """A temporary folder of a seed, and a home with its documents."""
    with TemporaryDirectory() as temporary:
        folder, home = Path(temporary) / "made", Path(temporary) / "home"
        home.mkdir()
        made = Made(make(seed, folder), folder, home)
        with opened(home, **settings) as kb:
            kb.ingest([folder / DOCUMENTS])
        yield made


def opened(home: Path, **settings: str) -> KnowledgeBase:
    return KnowledgeBase(Settings.load(home).model_copy(update=settings))


# Retrieval


def retrieval(seed: int, *, phrasings: bool = False) -> Scored:
    """How kb answers the questions of a seed."""
    with ingested(seed) as made, opened(made.home) as kb:
        asked = load_questions(made.folder / QUESTIONS)
        report, responses = measure(kb, asked, phrasings=phrasings, progress=lambda done, total: None)
        rows = {row["id"]: row for row in _lines(made.folder / QUESTIONS)}
    scores = {name: report.scores[name] for name in SHOWN} | {"reachable": report.ceiling}
    kinds = {name: group for name, group in report.groups.items() if name.startswith("kind ") and "hit@5" in group}
    scores |= {f"{score}, {name}": group[score] for name, group in kinds.items() for score in ("hit@5", "within 2000")}
    caught = {q.id: traps_met(q, rows[q.id]["traps"], responses[q.id]) for q in asked}
    for trap in Trap:
        baited = [trap in caught[name] for name, row in rows.items() if trap in row["traps"]]
        scores[f"trapped, {trap}"] = fmean(baited)
    causes = {missed.id: missed.cause for missed in report.missed}
    wrong = (
        {key: row[key] for key in ("id", "kind", "key", "query")}
        | {"cause": causes.get(name, ""), "traps": caught[name]}
        for name, row in rows.items()
        if name in causes or caught[name] or (not row["evidence"] and responses[name].hits)
    )
    return Scored(scores, list(wrong))


def traps_met(question: Question, traps: Mapping[str, list[dict]], response: Response) -> list[str]:
    """The traps that stand among the first hits before any that answers."""
    found = []
    for trap, passages in traps.items():
        bait = question.model_copy(update={"evidence": tuple(map(GoldPassage.model_validate, passages))})
        for hit in response.hits[:FIRST]:
            if question.is_answered_by(hit.text, hit.paths):
                break
            if bait.is_answered_by(hit.text, hit.paths):
                found.append(trap)
                break
    return found


# Facts


READERS: dict[str, tuple[Trap, ...]] = {
    "careful reader": (),
    "hasty reader": (Trap.MISPRINT, Trap.REPEATED, Trap.DRAFT),
    "reader of the sibling": (Trap.SIBLING,),
}
"""Readers quote all that holds, and the last two also what does not hold, as if it did."""


def facts(seed: int) -> Scored:
    """What kb knows of a seed's facts: by its rules alone, and from readers whose answers hold if nothing contradicts.

    The readers make no mistake in quoting. So the scores say what kb does with right and with misleading answers.
    """
    scores: dict[str, float] = {}
    misses: list[dict] = []
    with ingested(seed, embedding_model=NO_MODEL) as made:
        seeded, target = made.library, made.library.chip.names.chip
        gold = {row["id"]: row for row in gold_facts(seeded)}
        with opened(made.home, embedding_model=NO_MODEL) as kb:
            scores["rules: facts read"] = sum(fact.form is not Form.STATED for fact in kb.catalog.facts(None))
            outcomes = _outcomes(kb, seeded, gold)
        scores |= _shares("rules", outcomes)
        misses += _missed("rules", outcomes)
        for reader, traps in READERS.items():
            right = _answers(seeded.places, gold)
            misleading = [one for trap in traps for one in _answers(_mistaken(seeded, trap, gold), gold)]
            answers = random.Random(seed).sample(right + misleading, len(right) + len(misleading))
            copy = made.home.with_name(reader)
            shutil.copytree(made.home, copy)
            with opened(copy, embedding_model=NO_MODEL) as kb:
                answered = kb.answer_facts(target, answers)
                for name in dict.fromkeys(fact.target for fact in answered.stored):
                    kb.factbook.accept_answers(name)
                refused = answered.refused
                outcomes = _outcomes(kb, seeded, gold)
            for name, own in (("right", right), ("misleading", misleading)):
                if own:
                    scores[f"{reader}: {name} refused"] = sum(one.answer in own for one in refused) / len(own)
            scores |= _shares(reader, outcomes)
            for trap in traps:
                keys = {place.key for place in _mistaken(seeded, trap, gold)}
                scores |= _shares(f"{reader}, {trap}", {key: outcomes[key] for key in keys})
            misses += _missed(reader, outcomes)
            misses += [_refused(reader, one) for one in refused if one.answer in right]
    return Scored(scores, misses)


def facts_of(home: Path, seed: int) -> Scored:
    """What a home knows of a seed's facts, whose documents it has, and of which a reader may have answered for some."""
    made = library(seed)
    with opened(home) as kb:
        outcomes = _outcomes(kb, made, {row["id"]: row for row in gold_facts(made)})
    return Scored(_shares("home", outcomes), _missed("home", outcomes))


def _mistaken(library: Library, trap: Trap, gold: Mapping[str, dict]) -> list[Place]:
    """The passages of a trap that a reader can take for the chip's: the draft's instructions have other names."""
    places = (place for place in library.traps[trap] if place.key in gold)
    return [place for place in places if trap is not Trap.DRAFT or not gold[place.key]["condition"]]


def _answers(places: Iterable[Place], gold: Mapping[str, dict]) -> list[FactAnswer]:
    rows = ((place, gold[place.key]) for place in places if place.key in gold)
    return [
        FactAnswer(
            quantity=row["quantity"], value=place.value, unit=row["unit"], condition=row["condition"], quote=place.text
        )
        for place, row in rows
    ]


class Outcome(NamedTuple):
    """What kb knows of a fact, and whether it is right."""

    right: str
    holds: tuple[str, ...]
    """The values that hold."""
    found: bool
    """Whether kb has the right value at all."""
    waits: bool
    """Whether no value holds before a person decides."""

    @property
    def held(self) -> bool:
        return self.right in self.holds

    @property
    def wrong(self) -> bool:
        return bool({*self.holds} - {self.right})


def _outcomes(kb: KnowledgeBase, library: Library, gold: Mapping[str, dict]) -> dict[str, Outcome]:
    """The outcome of each gold fact, by its id.

    A fact of kb is about a gold fact if it has its name and condition. One with a reader's own name is about it if it
    quotes a passage that states it, rightly or wrongly, with the passage's value.
    """
    names = {(row["quantity"], row["condition"]) for row in gold.values()}
    filed, others = defaultdict(list), defaultdict(list)
    for standing in kb.factbook.standings(library.chip.names.chip):
        name = standing.fact.quantity, standing.fact.condition
        (filed[name] if name in names else others[standing.fact.value]).append(standing)
    stated = defaultdict(list)
    for places in (library.places, *library.traps.values()):
        for place in places:
            stated[place.key].append(place)
    outcomes = {}
    for key, row in gold.items():
        quoting = (s for place in stated[key] for s in others[place.value] if _quotes(s.fact, place))
        own = [*filed[row["quantity"], row["condition"]], *quoting]
        holds = tuple(sorted({s.fact.value for s in own if s.standing is FactStanding.HOLDS}))
        found = any(s.fact.value == row["value"] for s in own)
        outcomes[key] = Outcome(row["value"], holds, found, not holds and any(s.waits for s in own))
    return outcomes


def _quotes(fact: Fact, place: Place) -> bool:
    passage = GoldPassage(path=place.path, must=place.must)
    return Question(id="", query="", evidence=(passage,)).is_answered_by(fact.quote, (fact.citation.path,))


def _shares(who: str, outcomes: Mapping[str, Outcome]) -> dict[str, float]:
    names = ("found", "held", "wrong", "waits")
    return {f"{who}: {name}": fmean(getattr(outcome, name) for outcome in outcomes.values()) for name in names}


def _missed(who: str, outcomes: Mapping[str, Outcome]) -> list[dict]:
    """The facts of which a wrong value holds, or of which kb has the right value and neither holds it nor asks."""
    lost = ((key, one) for key, one in outcomes.items() if one.wrong or (one.found and not (one.held or one.waits)))
    return [{"who": who, "id": key} | one._asdict() for key, one in lost]


def _refused(who: str, refused: RefusedAnswer) -> dict:
    return {"who": who, "refused": refused.reason, "quote": refused.answer.quote, "value": refused.answer.value}


# All seeds


def over(seeds: Iterable[int], score: Callable[[int], Scored]) -> dict:
    """The means of all scores over the seeds, with 95 % bootstrap intervals, and the misses of each seed."""
    results = {seed: score(seed) for seed in seeds}
    by_name: dict[str, list[float]] = defaultdict(list)
    for result in results.values():
        for name, value in result.scores.items():
            by_name[name].append(value)
    return {
        "seeds": list(results),
        "scores": {name: {"mean": round(fmean(v), 4), "interval": interval(v)} for name, v in by_name.items()},
        "misses": {seed: result.misses for seed, result in results.items()},
    }


def interval(values: Sequence[float]) -> tuple[float, float]:
    """The 95 % bootstrap interval of the mean."""
    chance = random.Random(0)
    means = [fmean(chance.choices(values, k=len(values))) for _ in range(RESAMPLES)]
    low, *_, high = quantiles(means, n=40)
    return round(low, 4), round(high, 4)


def _lines(file: Path) -> list[dict]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
