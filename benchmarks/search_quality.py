"""Measure how well and how fast a home answers a file of questions: kb and the usual alternatives, in the same run.

    kb ingest CORPUS/*/ --hidden
    python -m benchmarks.search_quality QUESTIONS.jsonl --out benchmarks/results/search.json

For the format of QUESTIONS see `kb.bench.questions`. Every question is asked alone and with its phrasings, then again
with another name for its target, and again without a model.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import kb as knowledge
from benchmarks.exact_names import ask_for_names
from benchmarks.origin import say_nothing, write_result
from benchmarks.retrieval_baselines import alternatives, measured
from kb.bench.questions import Question, load_questions
from kb.bench.retrieval import Report, measure
from kb.settings import NO_MODEL
from kb.usecases.knowledge_base import KnowledgeBase

OTHER_NAMES = {"mi300x": "gfx942", "mi355x": "gfx950", "hopper": "sm_90", "trainium": "Neuron", "riscv-rvv": "RVV"}
MODES = {"query alone": False, "query and phrasings": True}
OF_SYSTEM = {"scores", "intervals", "seconds"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("questions", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    questions = load_questions(options.questions)
    renamed = [q.model_copy(update={"target": OTHER_NAMES.get(q.target or "", q.target)}) for q in questions]
    with knowledge.open() as kb:
        result = {mode: _beside_alternatives(kb, questions, phrasings=own) for mode, own in MODES.items()}
        result["exact names"] = ask_for_names(kb)
        result["targets by another name"] = _scores(kb, renamed)
        settings = kb.settings
    with KnowledgeBase(settings.model_copy(update={"embedding_model": NO_MODEL})) as lexical:
        result["without a model"] = _scores(lexical, questions)
    write_result(options.out, result)


def _beside_alternatives(kb: KnowledgeBase, questions: Sequence[Question], *, phrasings: bool) -> dict:
    report = _report(kb, questions, phrasings=phrasings)
    return report.model_dump(mode="json", exclude={*OF_SYSTEM, "groups"}) | {
        "by kind and target": report.groups,
        "systems": {"kb": report.model_dump(mode="json", include=OF_SYSTEM)}
        | measured(kb, alternatives(kb), questions, phrasings=phrasings),
    }


def _scores(kb: KnowledgeBase, questions: Sequence[Question]) -> dict[str, dict[str, float]]:
    return {mode: _report(kb, questions, phrasings=own).scores for mode, own in MODES.items()}


def _report(kb: KnowledgeBase, questions: Sequence[Question], *, phrasings: bool) -> Report:
    return measure(kb, questions, phrasings=phrasings, progress=say_nothing)[0]


if __name__ == "__main__":
    main()
