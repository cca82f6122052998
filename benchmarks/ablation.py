"""What each step of the search gives: the questions of `search_quality.py`, asked with one step taken away or changed.

    KB_HOME=HOME python -m benchmarks.ablation QUESTIONS.jsonl --out benchmarks/results/ablation.json

No weight is fitted here. What a step is worth is the difference to the first row; one question of 195 is .005.
`benchmarks/search_quality.py` says what a weight that is fitted on some questions gives on others.
"""

import argparse
import json
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import kb as knowledge
from benchmarks.origin import origin
from kb.bench.questions import Question, load_questions
from kb.bench.retrieval import ask
from kb.bench.scores import scores
from kb.bench.systems import KB, systems
from kb.session import KnowledgeBase
from retrieval import packing, retriever, widening

SHOWN = ("hit@1", "hit@5", "MRR@10", "within 1000", "within 2000", "within 4000", "within 8000")
WEIGHTS = dict(zip(("title", "headings", "body", "path", "identifiers"), retriever.COLUMN_WEIGHTS, strict=True))

Change = tuple[object, str, object]
"""Module, name, value."""


@dataclass(frozen=True, slots=True)
class Variant:
    name: str
    changes: tuple[Change, ...] = ()
    settings: dict[str, object] | None = None


def columns(**weights: float) -> tuple[Change, ...]:
    return ((retriever, "COLUMN_WEIGHTS", tuple((WEIGHTS | weights).values())),)


VARIANTS = (
    Variant("as it is"),
    Variant("no titles, headings and paths", columns(title=0, headings=0, path=0)),
    Variant("no identifiers", columns(identifiers=0)),
    Variant("identifiers count 1", columns(identifiers=1)),
    Variant("rows lift no table", ((retriever, "ROW_SHARE", 0.0),)),
    Variant("rows lift by half of their score", ((retriever, "ROW_SHARE", 0.5),)),
    Variant("lexical alone", settings={"lexical_weight": 1.0}),
    Variant("dense alone", settings={"lexical_weight": 0.0}),
    Variant("lexical weight .7", settings={"lexical_weight": 0.7}),
    Variant("50 candidates of each list", ((retriever, "CANDIDATES", 50),)),
    Variant("200 candidates of each list", ((retriever, "CANDIDATES", 200),)),
    Variant("near-duplicates kept", ((packing, "NEAR_DUPLICATE", 1.0),)),
    Variant("no hit widened", ((widening, "WIDENED_HITS", 0),)),
    Variant("five hits widened", ((widening, "WIDENED_HITS", 5),)),
    Variant("widened to 768 tokens", ((widening, "WIDENED_TOKENS", 768),)),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("questions", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    questions = load_questions(options.questions)
    with knowledge.open() as kb:
        rows = {variant.name: _measured(kb, questions, variant) for variant in VARIANTS}
    options.out.write_text(json.dumps(origin() | {"steps": rows}, indent=2) + "\n", encoding="utf-8")


def _measured(kb: KnowledgeBase, questions: list[Question], variant: Variant) -> dict[str, dict[str, float]]:
    before = kb.settings
    with ExitStack() as changed:
        for module, name, value in variant.changes:
            changed.enter_context(patch.object(module, name, value))
        kb.settings = before.model_copy(update=variant.settings or {})
        rows = {
            "query alone": _scores(kb, questions, phrasings=False),
            "query and phrasings": _scores(kb, questions, phrasings=True),
        }
    kb.settings = before
    print(variant.name, json.dumps(rows), flush=True)
    return rows


def _scores(kb: KnowledgeBase, questions: list[Question], *, phrasings: bool) -> dict[str, float]:
    answered, _ = ask(kb, systems(kb)[KB], questions, phrasings=phrasings, progress=lambda done, total: None)
    found = scores(answered)
    return {name: found[name] for name in SHOWN}


if __name__ == "__main__":
    main()
