"""Measure what the prompts for known cases say: the needed facts and names, with citations, and what must not be there.

    kb ingest CORPUS/*/ --hidden
    python -m benchmarks.prompts CASES --out benchmarks/results/prompts.json [--before prompts.json] [--texts FOLDER]

CASES is a folder of JSON files: `task`, `target`, `language`, `needed` (what, and the patterns of its words) and `useless`
(patterns). An item is found if one of its patterns is in the prompt; it is cited if the line that has it, or the lines of
its block, end in a citation. The words of the task itself are neither. No code of a task runs: torch infers its shapes.

The result holds counts and the citations of what a prompt quotes, with a digest of its words, because the documents are
other people's; `--texts` writes the prompts to a folder for a reader with the same documents. `--before` adds the counts
of an earlier result.
"""

import argparse
import hashlib
import json
import re
import time
from pathlib import Path

import kb as knowledge
from benchmarks.origin import write_result
from eval.oracle.reference import interface_of
from kb.types.base import tokens_of
from kb.types.kernels import Task
from kb.usecases.knowledge_base import KnowledgeBase
from synth.prompts.prompt import Prompt

BUDGET_TOKENS = 6000
CITED = re.compile(r"\[(?:\d+:(?:p\.)?\d+(?:-\d+)?|[0-9a-f]{12})\]")
BLOCK = re.compile(r"\n(?=- |#{2,3} |```|[a-z][a-z ]+ (?:\(of [^)]*\) )?= )")
"""Where a statement, a fact, a heading or a fence begins."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--before", type=Path)
    parser.add_argument("--texts", type=Path)
    options = parser.parse_args()
    before = json.loads(options.before.read_text(encoding="utf-8"))["cases"] if options.before else {}
    scores = {}
    with knowledge.open() as kb:
        for file in sorted(options.cases.glob("*.json")):
            case = json.loads(file.read_text(encoding="utf-8"))
            start = time.perf_counter()
            prompt = _prompt(kb, case)
            seconds = time.perf_counter() - start
            scores[case["name"]] = _score(case, prompt) | {"seconds": round(seconds, 1)}
            if case["name"] in before:
                scores[case["name"]]["before"] = before[case["name"]]
            if options.texts:
                options.texts.mkdir(parents=True, exist_ok=True)
                (options.texts / f"{case['name']}.md").write_text(prompt.text, encoding="utf-8")
    found, needed = (sum(score[key] for score in scores.values()) for key in ("cited", "needed"))
    summary = {"needed and cited": round(found / needed, 3), "most tokens": max(s["tokens"] for s in scores.values())}
    write_result(options.out, {"documents": kb_documents(), "summary": summary, "cases": scores})


def kb_documents() -> int:
    with knowledge.open() as kb:
        return len(kb.documents.stored())


def _prompt(kb: KnowledgeBase, case: dict) -> Prompt:
    """The prompt to draft a case: it comes with no attempt."""
    task = Task(name=case["name"], source=case["task"])
    plan = kb.plan(task, case["target"], language=case["language"], synthesizer="external")
    return kb.draft_prompt(plan, interface_of(task), budget_tokens=BUDGET_TOKENS)


def _score(case: dict, prompt: Prompt) -> dict:
    text = prompt.text.replace(case["task"].strip(), "")
    blocks = [(_flat(block), bool(CITED.search(block))) for block in BLOCK.split(text)]
    line = _flat(text)
    found = {item["what"]: [p for p in item["patterns"] if re.search(p, line, re.I)] for item in case["needed"]}
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
        "digest": hashlib.sha256(prompt.text.encode()).hexdigest()[:16],
    }


def _flat(text: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"`|\*\*", "", text))


if __name__ == "__main__":
    main()
