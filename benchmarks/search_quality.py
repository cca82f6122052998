"""How well and how fast `kb search` and `kb context` answer a file of questions.

    kb ingest CORPUS/*/ --hidden
    python benchmarks/search_quality.py QUESTIONS.jsonl --scorer score.py --formats md rst --out results/search.json

Each line of QUESTIONS has `id`, `target` (or null), `query`, `phrasings` and `evidence` with paths below CORPUS. The
scorer is a Python file with `score(run, questions)`, `summary(rows)` and `answers(unit, question)`. Every question is
asked twice: the query alone, and the query together with its phrasings. The result names device, versions and commit.
"""

import argparse
import importlib.util
import json
import math
import os
import platform
import subprocess
import time
from collections import defaultdict
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from statistics import median, quantiles
from types import ModuleType

import numpy as np

import kb as knowledge
from kb.model import Hit
from kb.session import KnowledgeBase

HITS = 50
CONTEXT_TOKENS = 8000
LIBRARIES = ("kb-hardware", "torch", "sentence-transformers", "onnxruntime", "chromadb")


def main() -> None:
    parser = question_arguments(__doc__)
    options = parser.parse_args()
    questions, scorer = load(options)
    with knowledge.open() as kb:
        result = {
            "questions": len(questions),
            "catalog": kb.catalog.counts(),
            "model": kb.embedder.fingerprint if kb.embedder else None,
            "answered by one stored passage": ceiling(kb, questions, scorer),
            "query alone": measure(kb, questions, scorer, phrasings=False),
            "query and phrasings": measure(kb, questions, scorer, phrasings=True),
        }
    options.out.write_text(json.dumps(origin() | result, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(result, indent=2))


def measure(kb: KnowledgeBase, questions: list[dict], scorer: ModuleType, *, phrasings: bool) -> dict:
    run, seconds = {}, []
    for question in questions:
        asked = [question["query"], *(question["phrasings"] if phrasings else [])]
        began = time.perf_counter()
        found = kb.search(asked, target=question["target"], limit=HITS)
        seconds.append(time.perf_counter() - began)
        units = {hit.passage.citation.id: _unit(hit) for hit in found.hits}
        packed = kb.context(asked, target=question["target"], budget_tokens=CONTEXT_TOKENS)
        run[question["id"]] = {
            "hits": list(units.values()),
            "context": [units[p.citation.id] for p in packed.passages],
        }
    summary = scorer.summary(scorer.score(run, questions))
    scores = {name: round(value, 3) for name, value in summary.items() if math.isfinite(value)}
    times = {"median": round(median(seconds), 4), "95th percentile": round(quantiles(seconds, n=20)[-1], 4)}
    return {"scores": scores, "seconds of a search": times}


def ceiling(kb: KnowledgeBase, questions: list[dict], scorer: ModuleType) -> dict:
    """The share of the answerable questions that some passage answers alone: what cutting documents up has left."""
    by_path: dict[str, list[dict]] = defaultdict(list)
    ids, _ = kb.catalog.vectors(kb.embedder.fingerprint)
    for passage in kb.catalog.passages(np.unique(ids).tolist()):
        unit = {"paths": [passage.citation.path.removeprefix("hardware_docs/")], "text": passage.shown}
        by_path[unit["paths"][0]].append(unit)
    answerable = [q for q in questions if q["evidence"]]
    missed = [
        q["id"]
        for q in answerable
        if not any(scorer.answers(unit, q) for e in q["evidence"] for unit in by_path[e["path"]])
    ]
    return {"share": round(1 - len(missed) / len(answerable), 4), "missed": missed}


def question_arguments(description: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("questions", type=Path)
    parser.add_argument("--scorer", type=Path, required=True)
    parser.add_argument("--formats", nargs="*", help="only questions with evidence in a file of one of these suffixes")
    parser.add_argument("--out", type=Path, required=True)
    return parser


def load(options: argparse.Namespace) -> tuple[list[dict], ModuleType]:
    """The questions to ask and the scorer."""
    lines = options.questions.read_text(encoding="utf-8").splitlines()
    questions = [q for q in map(json.loads, lines) if _is_asked(q, options.formats)]
    spec = importlib.util.spec_from_file_location("scorer", options.scorer)
    scorer = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(scorer)
    return questions, scorer


def _unit(hit: Hit) -> dict:
    """A hit with all its places; a sheet counts as its target's."""
    places = (hit.passage.citation, *hit.also_in)
    return {"paths": [c.path.removeprefix("hardware_docs/") for c in places], "text": hit.passage.shown}


def _is_asked(question: dict, formats: list[str] | None) -> bool:
    suffixes = {Path(e["path"]).suffix.lstrip(".") for e in question["evidence"]}
    return not formats or bool(suffixes & set(formats))


def origin(libraries: Sequence[str] = LIBRARIES) -> dict:
    commit = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
    return {
        "date": time.strftime("%Y-%m-%d"),
        "commit": commit,
        "device": f"{platform.machine()} CPU, {os.cpu_count()} cores",
        "versions": {"python": platform.python_version()} | {name: version(name) for name in libraries},
    }


if __name__ == "__main__":
    main()
