"""Answer a question file from a knowledge base and write a run file for the scorer.

    python benchmarks/retrieval.py QUESTIONS.jsonl --corpus FOLDER --run RUN.jsonl [--phrasings] [--formats md rst]

Each line of QUESTIONS has `id`, `target` (or null), `query`, `phrasings` and `evidence` with paths below FOLDER, whose
sub-folders have been ingested into the home (`kb ingest FOLDER/*/`). RUN gets for each question its hits, best first,
and the packed context. Prints how long a query took.
"""

import argparse
import json
import time
from pathlib import Path
from statistics import median, quantiles

import kb as knowledge
from kb.model import Hit

HITS = 50
CONTEXT_TOKENS = 8000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("questions", type=Path)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--run", type=Path, required=True)
    parser.add_argument("--phrasings", action="store_true", help="send the other phrasings together with the query")
    parser.add_argument("--formats", nargs="*", help="only questions with evidence in a file of one of these suffixes")
    options = parser.parse_args()
    questions = [json.loads(line) for line in options.questions.read_text(encoding="utf-8").splitlines()]
    asked = [q for q in questions if _is_asked(q, options.formats)]
    seconds = []
    with knowledge.open() as kb, options.run.open("w", encoding="utf-8") as run:
        for question in asked:
            phrasings = [question["query"], *(question["phrasings"] if options.phrasings else [])]
            began = time.perf_counter()
            found = kb.search(phrasings, target=question["target"], limit=HITS)
            seconds.append(time.perf_counter() - began)
            places = {hit.passage.citation.id: _unit(hit) for hit in found.hits}
            packed = kb.context(phrasings, target=question["target"], budget_tokens=CONTEXT_TOKENS)
            row = {
                "id": question["id"],
                "hits": [_unit(hit) for hit in found.hits],
                "context": [places[p.citation.id] for p in packed.passages],
            }
            run.write(json.dumps(row, ensure_ascii=False) + "\n")
    times = f"median {median(seconds):.3f} s, 95th percentile {quantiles(seconds, n=20)[-1]:.3f} s"
    print(f"{len(asked)} of {len(questions)} questions; a search took {times}")


def _is_asked(question: dict, formats: list[str] | None) -> bool:
    suffixes = {Path(e["path"]).suffix.lstrip(".") for e in question["evidence"]}
    return not formats or bool(suffixes & set(formats))


def _unit(hit: Hit) -> dict:
    """A hit with all its places; a sheet counts as its target's."""
    places = (hit.passage.citation, *hit.also_in)
    return {"paths": [c.path.removeprefix("hardware_docs/") for c in places], "text": hit.passage.shown}


if __name__ == "__main__":
    main()
