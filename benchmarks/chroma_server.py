"""Measure a question: comparing every vector, the home's own Chroma index, and a Chroma server.

    chroma run --path FOLDER --port 8000
    python -m benchmarks.chroma_server QUESTIONS.jsonl --home HOME --work FOLDER --url http://127.0.0.1:8000 \\
        --out benchmarks/results/chroma-server.json

HOME is only copied. The queries are the questions, embedded by the default model before; 100 candidates per query. Each
is asked of all targets, and with `--size` of one of 18, too. The three take turns, each in its own process.
"""

import argparse
import json
import os
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.origin import write_result
from benchmarks.scale import MODEL, ROUNDS, Scopes, all_and_one, alone, by_scope, copied, memory_mb, multiplied, timed
from kb.catalog import Catalog
from kb.settings import DEFAULT_MODEL, Settings, cache_dir
from retrieval.chroma_index import ChromaIndex
from retrieval.chroma_server import WRITE_S, kept_by
from retrieval.embedding.compiler import load_embedder
from retrieval.fusion import CANDIDATES
from retrieval.vectors import ExactIndex

EXACT = "every vector"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("questions", type=Path)
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True, help="copies of the home and the index are kept here")
    parser.add_argument("--url", required=True, help="address of the server")
    parser.add_argument("--size", type=int, help="so many vectors, made from the home's as scale.py does")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    questions = [json.loads(line)["query"] for line in options.questions.read_text(encoding="utf-8").splitlines()]
    embedder = load_embedder(DEFAULT_MODEL, cache=cache_dir(), notify=print)
    queries, model = embedder.embed_queries(questions), embedder.fingerprint
    home, scopes = options.home, all_and_one(len(queries))
    if not options.size:
        scopes = scopes[:1]
    else:
        home = multiplied(copied(home, options.work / "real"), model, options.work / f"{options.size}", options.size)
        model = MODEL
    ways = {
        name: Settings(home=copied(home, options.work / name), chroma_url=url)
        for name, url in ((EXACT, ""), ("index in the home", ""), ("index on a server", options.url))
    }
    built = {name: alone(build, ways[name], model) for name in list(ways)[1:]}
    runs: dict[str, list[dict[str, Any]]] = {name: [] for name in ways}
    load = []
    for _ in range(ROUNDS):
        for name, settings in ways.items():
            runs[name].append(alone(ask, settings, model, queries, scopes))
            load.append(os.getloadavg()[0])
    with Catalog(ways[EXACT].home) as catalog:
        vectors = catalog.count_windows()
    exact = runs[EXACT][0]
    result = {
        "vectors": vectors,
        "candidates": CANDIDATES,
        "queries": len(queries),
        "rounds": ROUNDS,
        "ways": {name: built.get(name, {}) | summary(done, exact) for name, done in runs.items()},
        "load average": {"least": min(load), "median": statistics.median(load), "most": max(load)},
    }
    write_result(options.out, result)


def build(settings: Settings, model: str) -> dict[str, float]:
    """Publish the index; return how long that took, and the most memory of this process."""
    began = time.perf_counter()
    with Catalog(settings.home) as catalog:
        ChromaIndex(catalog, model=model, kept=kept_by(settings, WRITE_S)).publish()
    return {"build s": round(time.perf_counter() - began, 1), "build peak MB": memory_mb()["peak MB"]}


def ask(settings: Settings, model: str, queries: np.ndarray, scopes: Sequence[Scopes]) -> dict[str, Any]:
    """Run all queries in each scope. Return the milliseconds and best ids of each scope, the seconds until the first
    answer, and the memory."""
    began = time.perf_counter()
    with Catalog(settings.home) as catalog:
        indexed = ChromaIndex(catalog, model=model, kept=kept_by(settings))
        index = ExactIndex(catalog, model=model) if settings.home.name == EXACT else indexed
        index.nearest(queries[:1], targets=None, limit=CANDIDATES)
        first = time.perf_counter() - began
        answers = [list(timed(index, queries, targets)) for targets in scopes]
    return {
        "first answer s": first,
        "ms": [[ms for ms, _ in answer] for answer in answers],
        "best": [[best for _, best in answer] for answer in answers],
        "resident MB": memory_mb()["resident MB"],
    }


def summary(runs: Sequence[dict[str, Any]], exact: dict[str, Any]) -> dict[str, Any]:
    """Medians over the runs, and the share of the ten nearest that the first one found, by scope."""

    def middle(share: float) -> dict[str, float]:
        by_run = zip(*([np.percentile(ms, share) for ms in run["ms"]] for run in runs), strict=True)
        return by_scope([round(statistics.median(of_scope), 2) for of_scope in by_run])

    found = [
        statistics.fmean(len(set(a) & set(b)) / len(b) for a, b in zip(own, right, strict=True) if b)
        for own, right in zip(runs[0]["best"], exact["best"], strict=True)
    ]
    return {
        "p50 ms": middle(50),
        "p95 ms": middle(95),
        "first answer s": round(statistics.median(run["first answer s"] for run in runs), 2),
        "resident MB": statistics.median(run["resident MB"] for run in runs),
        "recall": by_scope([round(share, 4) for share in found]),
    }


if __name__ == "__main__":
    main()
