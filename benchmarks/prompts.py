"""Measure what the prompts for known cases say: the needed facts and names, with citations, and what must not be there.

    kb ingest CORPUS/*/ --hidden
    python -m benchmarks.prompts CASES --out benchmarks/results/prompts.json [--before FOLDER] [--texts FOLDER]

CASES is a folder of JSON files: `task`, `target`, `language`, `needed` (what, and the patterns of its words) and
`useless` (patterns). An item is found if one of its patterns is in the prompt, and cited if the statement, the fact or
the passage that has it names its place. The words of the task itself are neither. Tasks run at small sizes only. Items
about units of a processor that the judge's lacks are not needed.

The result holds counts and a digest of each prompt, not its words, because the documents are other people's; `--texts`
writes the prompts to a folder. `--before` names a folder with such texts of another version, which are counted beside.
"""

import argparse
import hashlib
import json
import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import kb as knowledge
from benchmarks.origin import write_result
from eval.machine import processor_in_full
from eval.oracle.allowed import described
from kb.types.base import tokens_of
from kb.types.kernels import Task
from kb.usecases.knowledge_base import KnowledgeBase
from synth.briefing.topics import topics
from synth.prompts.prompt import Prompt

BUDGET_TOKENS = 6000
CITED = re.compile(r"\[(?:\d+:(?:p\.)?\d+(?:-\d+)?|[0-9a-f]{12}|[^\]\n]+@[0-9a-f]{8}[^\]\n]*)\]")
BLOCK = re.compile(r"\n(?=- |#{2,3} |[a-z][a-z ]+ (?:\(of [^)]*\) )?= )")
"""Where a statement, a fact or a heading begins."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--before", type=Path)
    parser.add_argument("--texts", type=Path)
    options = parser.parse_args()
    scores: dict[str, dict[str, Any]] = {}
    before: dict[str, dict[str, Any]] = {}
    with knowledge.open() as kb:
        for file in sorted(options.cases.glob("*.json")):
            case = json.loads(file.read_text(encoding="utf-8"))
            start = time.perf_counter()
            prompt = _prompt(kb, case)
            seconds = time.perf_counter() - start
            scores[case["name"]] = _score(case, prompt.text) | {"seconds": round(seconds, 1)}
            if options.before:
                before[case["name"]] = _score(case, (options.before / f"{case['name']}.md").read_text(encoding="utf-8"))
            if options.texts:
                options.texts.mkdir(parents=True, exist_ok=True)
                (options.texts / f"{case['name']}.md").write_text(prompt.text, encoding="utf-8")
        documents = len(kb.documents.stored())
    result = {"documents": documents, "summary": _summary(scores), "cases": scores}
    write_result(options.out, result | ({"before": {"summary": _summary(before), "cases": before}} if before else {}))


def _summary(scores: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    total = {key: sum(score[key] for score in scores.values()) for key in ("needed", "found", "cited", "useless")}
    shares = {key: round(total[key] / total["needed"], 3) for key in ("found", "cited")}
    least = min(score["cited"] / score["needed"] for score in scores.values())
    tokens = [score["tokens"] for score in scores.values()]
    return {**shares, "least cited": round(least, 3), "useless": total["useless"], "most tokens": max(tokens)}


def _prompt(kb: KnowledgeBase, case: dict[str, Any]) -> Prompt:
    """The prompt to draft a case: it comes with no attempt."""
    task = Task(name=case["name"], source=case["task"])
    plan = kb.plan(task, case["target"], language=case["language"], synthesizer="external")
    return kb.draft_prompt(plan, described(task), budget_tokens=BUDGET_TOKENS)


def _score(case: dict[str, Any], prompt: str) -> dict[str, Any]:
    text = prompt.replace(case["task"].strip(), "")
    blocks = [(_flat(block), bool(CITED.search(block))) for block in BLOCK.split(text)]
    line = _flat(text)
    lacks = topics().missing_in(processor_in_full()) if processor_in_full() in prompt else ()
    needed = [item for item in case["needed"] if not topics().is_of_missing(item["what"], lacks)]
    found = {item["what"]: [p for p in item["patterns"] if re.search(p, line, re.I)] for item in needed}
    cited = [
        what
        for what, patterns in found.items()
        if any(is_cited and re.search(p, block, re.I) for p in patterns for block, is_cited in blocks)
    ]
    return {
        "needed": len(found),
        "found": sum(map(bool, found.values())),
        "cited": len(cited),
        "missing": [what for what, patterns in found.items() if not patterns],
        "useless": sum(len(re.findall(pattern, line, re.I)) for pattern in case["useless"]),
        "tokens": tokens_of(text),
        "digest": hashlib.sha256(prompt.encode()).hexdigest()[:16],
    }


def _flat(text: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"`|\*\*", "", text))


if __name__ == "__main__":
    main()
