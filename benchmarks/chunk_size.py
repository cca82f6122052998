"""How the length of a chunk changes what lexical search finds: the sweep behind `ingest.chunk.CHUNK_CHARACTERS`.

    python benchmarks/chunk_size.py QUESTIONS.jsonl --corpus CORPUS --scorer score.py --formats md rst --out FILE.json

Ingests every folder of CORPUS anew for each length, without embeddings, and asks all questions (see
search_quality.py for their form).
"""

import json
import tempfile
from pathlib import Path

from search_quality import load, measure, origin, question_arguments

import ingest.chunk
from kb.session import KnowledgeBase
from kb.settings import NO_MODEL, Settings

LENGTHS = (768, 1024, 1536, 2048)
SHOWN = ("hit1", "hit5", "mrr10", "ctx2k", "ctx4k", "ctx8k")


def main() -> None:
    parser = question_arguments(__doc__)
    parser.add_argument("--corpus", type=Path, required=True)
    options = parser.parse_args()
    questions, scorer = load(options)
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
                    scores = measure(kb, questions, scorer, phrasings=phrasings)["scores"]
                    row[name] = {key: scores[key] for key in SHOWN}
        rows.append(row)
        print(json.dumps(row), flush=True)
    result = {"questions": len(questions), "lengths": rows}
    options.out.write_text(json.dumps(origin() | result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
