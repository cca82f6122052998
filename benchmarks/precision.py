"""Measure what embedding in int8 gains in speed and costs in answers, against float32.

    python -m benchmarks.precision QUESTIONS.jsonl --corpus CORPUS --out benchmarks/results/precision.json

It ingests every folder of CORPUS once in each precision and asks all questions (for their format see
`kb.bench.questions`). Then it embeds the same texts in each precision in turn, on all cores and on one.
"""

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path

from benchmarks.embedding_speed import windows_of
from benchmarks.origin import LIBRARIES, origin
from kb.bench.questions import load_questions
from kb.bench.retrieval import measure
from kb.settings import DEFAULT_MODEL, Settings, cache_dir
from kb.usecases.knowledge_base import KnowledgeBase
from retrieval.compile import load_embedder
from retrieval.embedder import OnnxEmbedder
from retrieval.precision import Precision

SHOWN = ("hit@1", "hit@5", "MRR@10", "within 2000", "within 4000", "within 8000")
ROUNDS = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("questions", type=Path)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--only", nargs="*", help="names of the folders to read (default: all)")
    parser.add_argument("--texts", type=int, default=300)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    everything = (folder for folder in sorted(options.corpus.iterdir()) if folder.is_dir())
    folders = [folder for folder in everything if not options.only or folder.name in options.only]
    embedders = {precision: embedder_in(precision) for precision in Precision}
    questions = [q for q in load_questions(options.questions) if not options.only or q.target in options.only]
    result = {
        "folders": [folder.name for folder in folders],
        "questions": len(questions),
        "speed": speeds(embedders, windows_of(folders[0], embedders[Precision.FLOAT32], options.texts)),
        "answers": {precision: answers(embedder, folders, questions) for precision, embedder in embedders.items()},
    }
    options.out.write_text(json.dumps(origin(LIBRARIES) | result, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(result, indent=2))


def embedder_in(precision: Precision) -> OnnxEmbedder:
    return load_embedder(
        DEFAULT_MODEL, cache=cache_dir(), notify=print, stored=lambda fingerprint: fingerprint.endswith(precision)
    )


def speeds(embedders: dict[Precision, OnnxEmbedder], texts: list[str]) -> dict[str, object]:
    """Medians of texts per second and per CPU second, and the cosines between the two precisions."""
    vectors = {precision: embedder.embed_documents(texts) for precision, embedder in embedders.items()}
    cosines = (vectors[Precision.FLOAT32] * vectors[Precision.INT8]).sum(axis=1)
    times: dict[Precision, list[tuple[float, float]]] = {precision: [] for precision in embedders}
    for _ in range(ROUNDS):
        for precision, embedder in embedders.items():
            began, cpu = time.perf_counter(), time.process_time()
            embedder.embed_documents(texts)
            times[precision].append((time.perf_counter() - began, time.process_time() - cpu))
    per_second = {
        precision: {
            name: round(len(texts) / statistics.median(measured), 1)
            for name, measured in zip(("texts a second", "texts a CPU second"), zip(*pairs, strict=True), strict=True)
        }
        for precision, pairs in times.items()
    }
    return {"texts": len(texts), **per_second, "cosine": {"least": float(cosines.min()), "mean": float(cosines.mean())}}


def answers(embedder: OnnxEmbedder, folders: list[Path], questions: list) -> dict[str, object]:
    """Scores of all questions in a new home with these folders, and how long its ingest took."""
    with tempfile.TemporaryDirectory() as home, KnowledgeBase(Settings.load(Path(home)), embedder=embedder) as kb:
        began = time.perf_counter()
        kb.ingest(folders, hidden=True)
        row: dict[str, object] = {
            "windows": kb.catalog.count_windows(),
            "ingest seconds": round(time.perf_counter() - began),
        }
        for name, phrasings in (("query alone", False), ("query and phrasings", True)):
            report, _ = measure(kb, questions, phrasings=phrasings, baselines=False, progress=lambda done, total: None)
            row[name] = {key: report.systems[0].scores[key] for key in SHOWN}
    return row


if __name__ == "__main__":
    main()
