"""Measure how well and how fast a home answers a file of questions: kb and the usual alternatives, in the same run.

    kb ingest CORPUS/*/ --hidden
    python -m benchmarks.search_quality QUESTIONS.jsonl --out benchmarks/results/search.json

For the format of QUESTIONS see `kb.bench.questions`. Every question is asked alone and with its phrasings, then again
with another name for its target, and again without a model.
"""

import argparse
import json
from pathlib import Path

import kb as knowledge
from benchmarks.origin import origin
from kb.bench.questions import Question, load_questions
from kb.bench.retrieval import Report, measure
from kb.settings import NO_MODEL
from kb.usecases.knowledge_base import KnowledgeBase

OTHER_NAMES = {"mi300x": "gfx942", "mi355x": "gfx950", "hopper": "sm_90", "trainium": "Neuron", "riscv-rvv": "RVV"}
MODES = {"query alone": False, "query and phrasings": True}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("questions", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    questions = load_questions(options.questions)
    renamed = [q.model_copy(update={"target": OTHER_NAMES.get(q.target or "", q.target)}) for q in questions]
    with knowledge.open() as kb:
        result = {mode: _whole(_report(kb, questions, phrasings=own, baselines=True)) for mode, own in MODES.items()}
        result["targets by another name"] = {
            m: _scores(_report(kb, renamed, phrasings=own)) for m, own in MODES.items()
        }
        settings = kb.settings
    with KnowledgeBase(settings.model_copy(update={"embedding_model": NO_MODEL})) as lexical:
        result["without a model"] = {m: _scores(_report(lexical, questions, phrasings=own)) for m, own in MODES.items()}
    options.out.write_text(json.dumps(origin() | result, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(result, indent=2))


def _report(kb: KnowledgeBase, questions: list[Question], *, phrasings: bool, baselines: bool = False) -> Report:
    return measure(kb, questions, phrasings=phrasings, baselines=baselines, progress=_say_nothing)[0]


def _whole(report: Report) -> dict:
    ours = report.systems[0]
    return report.model_dump(mode="json", exclude={"systems"}) | {
        "by kind and target": ours.groups,
        "systems": {
            m.system: m.model_dump(mode="json", include={"scores", "intervals", "seconds"}) for m in report.systems
        },
    }


def _scores(report: Report) -> dict[str, float]:
    return report.systems[0].scores


def _say_nothing(done: int, total: int) -> None:
    pass


if __name__ == "__main__":
    main()
