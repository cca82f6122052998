"""Measure from how many vectors on a Chroma index is faster than comparing every vector, and what each costs.

    python -m benchmarks.scale QUESTIONS.jsonl --home HOME --work FOLDER --out benchmarks/results/scale.json

HOME is only copied. Larger collections are made from its vectors by adding noise of half their length, which leaves a
cosine of about .89 with the original. They are divided evenly among 18 targets, with neighbours together. The queries
are the questions, embedded by the default model. The measured code is kb's own: a catalog in FOLDER, `ChromaIndex`,
`ExactIndex`, 100 candidates per query. Measurements take turns, each in its own process.
"""

import argparse
import json
import os
import shutil
import sqlite3
import statistics
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from benchmarks.origin import write_result
from kb.catalog import Catalog
from kb.settings import DEFAULT_MODEL, cache_dir
from kb.targets import Targets
from kb.types.records import text_digest
from retrieval.chroma_index import GRAPH, ChromaIndex
from retrieval.embedding.compiler import load_embedder
from retrieval.fusion import CANDIDATES
from retrieval.vectors import ExactIndex

SIZES = (25_000, 50_000, 100_000, 250_000, 1_000_000)
ROUNDS = 3
TARGETS = 18
NOISE = 0.5
TOP = 10
MODEL = "multiplied"

Result = TypeVar("Result")
Scopes = Sequence[Collection[str] | None]
"""The targets in scope for each query."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("questions", type=Path)
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True, help="catalogs and indexes are kept here between runs")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    questions = [json.loads(line) for line in options.questions.read_text(encoding="utf-8").splitlines()]
    embedder = load_embedder(DEFAULT_MODEL, cache=cache_dir(), notify=print)
    queries = embedder.embed_queries([q["query"] for q in questions])
    real = copied(options.home, options.work / "real")
    homes = {size: multiplied(real, embedder.fingerprint, options.work / str(size), size) for size in options.sizes}
    built = {size: alone(build, home, MODEL) for size, home in homes.items()}
    load = [os.getloadavg()[0]]
    own = on_real(real, embedder.fingerprint, questions, queries)
    some = queries[::2]
    runs = asked(homes, some, load)
    result = {
        "candidates": CANDIDATES,
        "queries": {"real corpus": len(queries), "others": len(some)},
        "graph": GRAPH,
        "real corpus": own,
        "sizes": {size: built[size] | compared(runs[size, "exact"], runs[size, "chroma"]) for size in homes},
        "load average": {"least": min(load), "median": statistics.median(load), "most": max(load)},
    }
    write_result(options.out, result)


# Collections


def copied(home: Path, copy: Path) -> Path:
    if not copy.exists():
        copy.mkdir(parents=True)
        shutil.copy(home / "catalog.sqlite", copy)
    return copy


def multiplied(real: Path, model: str, home: Path, size: int) -> Path:
    """A home with `size` vectors and no text."""
    if home.exists():
        return home
    with Catalog(real) as catalog:
        _, vectors = catalog.vectors(model)
    chance = np.random.default_rng(size)
    sources = np.sort(np.resize(chance.permutation(len(vectors)), size))
    Catalog(home).close()
    with closing(sqlite3.connect(home / "catalog.sqlite")) as db, db:
        fields = (
            "source",
            "origin",
            "path",
            "title",
            "format",
            "version",
            "licence",
            "trust",
            "sha256",
            "stamp",
            "pipeline",
        )
        marks = ", ".join("?" * (len(fields) + 5))
        db.executemany(
            f"INSERT INTO document (id, target, text, lines, warnings, {', '.join(fields)}) VALUES ({marks})",
            [(t, f"t{t}", "", b"", "[]", f"{t}", *[""] * (len(fields) - 1)) for t in range(TARGETS)],
        )
        db.executemany(
            "INSERT INTO chunk VALUES (?, '', ?, NULL, ?, '', '', 0, 0, 0, 0, '')",
            ((i, i * TARGETS // size, i) for i in range(size)),
        )
        digests = [text_digest(str(i)) for i in range(size)]
        db.executemany("INSERT INTO embedded VALUES (?, 0, ?)", enumerate(digests))
        order = sorted(range(size), key=digests.__getitem__)
        for batch in np.array_split(np.array(order), max(1, size // 50_000)):
            noise = chance.standard_normal((len(batch), vectors.shape[1]), np.float32)
            noise *= NOISE / np.linalg.norm(noise, axis=1, keepdims=True)
            near = vectors[sources[batch]] + noise
            near = (near / np.linalg.norm(near, axis=1, keepdims=True)).astype("<f2")
            rows = zip(batch.tolist(), near, strict=True)
            db.executemany("INSERT INTO vector VALUES (?, ?, ?)", ((MODEL, digests[i], v.tobytes()) for i, v in rows))
    return home


# Measurements, each in its own process


def alone(work: Callable[..., Result], *arguments: object) -> Result:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(work, *arguments).result()


def build(home: Path, model: str) -> dict[str, float]:
    """Publish the index of `home` unless it exists; return its cost, which is stored beside it."""
    kept = home / "built.json"
    if not kept.exists():
        load, began = os.getloadavg()[0], time.perf_counter()
        with Catalog(home) as catalog:
            folder = home / "index" / ChromaIndex(catalog, model=model).publish().name
        cost = {
            "build s": round(time.perf_counter() - began, 1),
            "build peak MB": memory_mb()["peak MB"],
            "build load average": max(load, os.getloadavg()[0]),
            "index MB": round(sum(p.stat().st_size for p in folder.rglob("*") if p.is_file()) / 1e6),
            "catalog MB": round((home / "catalog.sqlite").stat().st_size / 1e6),
        }
        kept.write_text(json.dumps(cost), encoding="utf-8")
    return json.loads(kept.read_text(encoding="utf-8"))


def ask(home: Path, model: str, kind: str, queries: np.ndarray, scopes: Sequence[Scopes]) -> dict[str, Any]:
    """Run all queries in each of the scopes; return milliseconds and best ids by scope, and the memory used."""
    before = memory_mb()["resident MB"]
    began = time.perf_counter()
    with Catalog(home) as catalog:
        index = {"chroma": ChromaIndex, "exact": ExactIndex}[kind](catalog, model=model)
        index.nearest(queries[:1], targets=None, limit=CANDIDATES)
        first = time.perf_counter() - began
        answers = [list(timed(index, queries, targets)) for targets in scopes]
    after = memory_mb()
    return {
        "first s": first,
        "ms": [[ms for ms, _ in answer] for answer in answers],
        "best": [[best for _, best in answer] for answer in answers],
        "memory": after | {"before MB": before},
    }


def timed(index: ChromaIndex | ExactIndex, queries: np.ndarray, scopes: Scopes) -> Iterator[tuple[float, list[int]]]:
    for query, targets in zip(queries, scopes, strict=True):
        began = time.perf_counter()
        [found] = index.nearest(query[None], targets=targets, limit=CANDIDATES)
        yield 1000 * (time.perf_counter() - began), list(found)[:TOP]


def memory_mb(process: int | str = "self") -> dict[str, int]:
    lines = Path(f"/proc/{process}/status").read_text(encoding="utf-8").splitlines()
    kib = {name: int(rest.split()[0]) for name, _, rest in (line.partition(":") for line in lines) if "kB" in rest}
    return {"resident MB": kib["VmRSS"] * 1024 // 10**6, "peak MB": kib["VmHWM"] * 1024 // 10**6}


# Comparisons


def asked(homes: dict[int, Path], queries: np.ndarray, load: list[float]) -> dict[tuple[int, str], list[dict]]:
    """Measure each size with both indexes, in turns."""
    runs: dict[tuple[int, str], list[dict]] = {(s, k): [] for s in homes for k in ("exact", "chroma")}
    for _ in range(ROUNDS):
        for (size, kind), done in runs.items():
            done.append(alone(ask, homes[size], MODEL, kind, queries, all_and_one(len(queries))))
            load.append(os.getloadavg()[0])
    return runs


def all_and_one(queries: int) -> list[Scopes]:
    """Two scopes: all targets for every query, and one of 18 targets for each query."""
    return [[None] * queries, [{f"t{i % TARGETS}"} for i in range(queries)]]


def compared(exact: Sequence[dict], chroma: Sequence[dict]) -> dict[str, Any]:
    return {"exact": summary(exact), "chroma": summary(chroma) | {"recall": recalls(chroma[0], exact[0])}}


def on_real(home: Path, model: str, questions: Sequence[dict], queries: np.ndarray) -> dict[str, Any]:
    built, targets = alone(build, home, model), Targets.load(home)
    scopes = [[None] * len(queries), [targets.scope(q["target"]) if q["target"] else None for q in questions]]
    exact, chroma = (alone(ask, home, model, kind, queries, scopes) for kind in ("exact", "chroma"))
    pairs = [list(zip(a, b, strict=True)) for a, b in zip(exact["best"], chroma["best"], strict=True)]
    with Catalog(home) as catalog:
        vectors = catalog.count_windows()
    return {
        "vectors": vectors,
        **built,
        "same top ten": by_scope([round(statistics.fmean(a == b for a, b in pair), 4) for pair in pairs]),
        **compared([exact], [chroma]),
    }


def summary(runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Medians over the runs."""

    def middle(value: Callable[[dict[str, Any]], float], digits: int) -> float:
        return round(statistics.median(value(run) for run in runs), digits)

    return {
        "p50 ms": by_scope([middle(lambda run, i=i: np.percentile(run["ms"][i], 50), 2) for i in range(2)]),
        "p95 ms": by_scope([middle(lambda run, i=i: np.percentile(run["ms"][i], 95), 2) for i in range(2)]),
        "first answer s": middle(lambda run: run["first s"], 2),
    } | {name: middle(lambda run, name=name: run["memory"][name], 0) for name in runs[0]["memory"]}


def recalls(found: dict[str, Any], exact: dict[str, Any]) -> dict[str, float]:
    return by_scope(
        [
            round(statistics.fmean(len(set(a) & set(b)) / len(b) for a, b in zip(f, e, strict=True) if b), 4)
            for f, e in zip(found["best"], exact["best"], strict=True)
        ]
    )


def by_scope(values: Sequence[float]) -> dict[str, float]:
    return dict(zip(("all", "target"), values, strict=False))


if __name__ == "__main__":
    main()
