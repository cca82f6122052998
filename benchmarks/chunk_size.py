"""Measure how the length of a chunk changes lexical search: the sweep behind `ingest.chunk.CHUNK_CHARACTERS`.

    python -m benchmarks.chunk_size QUESTIONS.jsonl --corpus CORPUS --out FILE.json

For each length it ingests every folder of CORPUS again, without embeddings, and asks all questions (for their format
see `kb.bench.questions`).
"""

import argparse
import json
import tempfile
from pathlib import Path

import ingest.chunk
from benchmarks.origin import origin
from kb.bench.questions import load_questions
from kb.bench.retrieval import measure
from kb.settings import NO_MODEL, Settings
from kb.usecases.knowledge_base import KnowledgeBase

LENGTHS = (768, 1024, 1536, 2048)
SHOWN = ("hit@1", "hit@5", "MRR@10", "within 2000", "within 4000", "within 8000")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("questions", type=Path)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    questions = load_questions(options.questions)
    folders = sorted(d for d in options.corpus.iterdir() if d.is_dir())
    rows = []
    for length in LENGTHS:
        ingest.chunk.CHUNK_CHARACTERS = length
        with tempfile.TemporaryDirectory() as home:
            settings = Settings.load(Path(home)).model_copy(update={"embedding_model": NO_MODEL})
            with KnowledgeBase(settings) as kb:
                kb.ingest(folders, hidden=True)
                row = {"characters": length, "chunks": kb.catalog.counts()["chunk"]}
                for name, phrasings in (("query alone", False), ("query and phrasings", True)):
                    report, _ = measure(
                        kb, questions, phrasings=phrasings, baselines=False, progress=lambda done, total: None
                    )
                    row[name] = {key: report.systems[0].scores[key] for key in SHOWN}
        rows.append(row)
        print(json.dumps(row), flush=True)
    result = {"questions": len(questions), "lengths": rows}
    options.out.write_text(json.dumps(origin() | result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
