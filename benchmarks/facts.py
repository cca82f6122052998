"""Measure how many of the facts that a person found in manuals kb finds, and how many of kb's facts hold.

    kb ingest CORPUS/*/ --hidden
    python -m benchmarks.facts --out benchmarks/results/facts.json [--sample N]

The gold facts in tests/facts/gold were written before there was an extractor. It was tuned on one half of the targets;
of the other half only counts by kind were seen, no document. Only facts that kb extracted from tables and instructions
count, except in the last recall, which is that of `kb facts TARGET` with the sheets that ship with kb and with
inherited facts. `--sample N` prints facts of the held-out half for a person to judge one by one.

If readers answered worksheets in this home (`kb facts answer TARGET FILE`, then `kb facts accept --all TARGET`), the
targets of their answers are scored once more, by the rules alone and with the readers. Gold facts carry kb's names of
quantities, and a reader may use the vendor's; `any name` counts the values that are found under whatever name.
"""

import argparse
import json
import random
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import kb as knowledge
from benchmarks.origin import write_result
from kb.facts.resolution import FactDecision, FactStanding, resolve_facts, same_value
from kb.facts.select import conditions
from kb.types.fact import Fact
from kb.types.records import Form
from kb.usecases.knowledge_base import KnowledgeBase

GOLD = Path("tests/facts/gold")
TUNED = ("apple", "cerebras", "google-tpu", "hopper", "mi300x", "nvdla", "riscv-rvv", "tenstorrent", "x86-avx512")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--sample", type=int, default=0)
    options = parser.parse_args()
    with knowledge.open() as kb:
        found = [fact for fact in kb.catalog.facts(None) if fact.form is not Form.STATED]
        read = [fact for fact in found if fact.form is not Form.PROPOSED]
        standing = _standings(kb, read)
        halves = {"tuned on": [], "held out": []}
        for fact in read:
            halves["tuned on" if _folder(fact) in TUNED else "held out"].append(fact)
        result = {half: _score(kb, facts, standing, half) for half, facts in halves.items()}
        if folders := {_folder(fact) for fact in found if fact.form is Form.PROPOSED}:
            result["targets with readers"] = {
                "rules alone": _recall(kb, read, standing, folders),
                "with readers": _recall(kb, found, _standings(kb, found), folders),
            }
    write_result(options.out, result)
    holding = [fact for fact in halves["held out"] if standing[fact.citation.id] is FactStanding.HOLDS]
    for fact in random.Random(0).sample(holding, min(options.sample, len(holding))):
        print(f"{fact.target} | {fact.quantity} | {fact.value} {fact.unit} | {fact.condition} | {fact.citation.place}")


def _standings(kb: KnowledgeBase, facts: list[Fact]) -> dict[str, FactStanding]:
    """Judge each fact among the facts of its target; return the standings by fact id."""
    by_target = defaultdict(list)
    for fact in facts:
        by_target[fact.target].append(fact)
    decisions = {key: FactDecision(decided.verdict) for key, decided in kb.catalog.decisions().items()}
    return {
        judged.fact.citation.id: judged.standing
        for target, own in by_target.items()
        for judged in resolve_facts(own, decisions=decisions, lineage=[target], families=kb.targets.families)
    }


def _score(kb: KnowledgeBase, facts: list[Fact], standing: dict[str, FactStanding], half: str) -> dict:
    gold = list(_gold(half))
    by_quantity = defaultdict(list)
    for fact in facts:
        by_quantity[fact.quantity].append(fact)
    asked, found, held, shown = Counter(), Counter(), Counter(), Counter()
    profiles = {
        target: [fact for fact in kb.known_facts(target) if fact.form is not Form.PROPOSED]
        for target in {entry["target"] for _, entry in gold}
    }
    for folder, entry in gold:
        matches = [f for f in by_quantity[entry["quantity"]] if _of_target(kb, entry, f) and _matches(entry, f)]
        for group in ("all", f"form {entry['form']}", f"target {folder}"):
            asked[group] += 1
            found[group] += bool(matches)
            held[group] += any(standing[f.citation.id] is FactStanding.HOLDS for f in matches)
            shown[group] += any(_matches(entry, f) for f in profiles[entry["target"]])
    return {
        "gold facts": len(gold),
        "read": len(facts),
        "targets with facts that hold": len({f.target for f in facts if standing[f.citation.id] is FactStanding.HOLDS}),
        "standing": dict(Counter(standing[f.citation.id].value for f in facts)),
        "recall": {group: round(found[group] / n, 3) for group, n in asked.items()},
        "recall of what holds": {group: round(held[group] / n, 3) for group, n in asked.items()},
        "recall of what kb facts shows": {group: round(shown[group] / n, 3) for group, n in asked.items()},
    }


def _recall(kb: KnowledgeBase, facts: list[Fact], standing: dict[str, FactStanding], folders: set[str]) -> dict:
    """Gold facts of the folders that are found, hold, and are found under any name; by folder."""
    counts: defaultdict[str, Counter] = defaultdict(Counter)
    for folder, entry in (pair for half in ("tuned on", "held out") for pair in _gold(half) if pair[0] in folders):
        own = [fact for fact in facts if _of_target(kb, entry, fact)]
        matches = [fact for fact in own if _matches(entry, fact)]
        for group in ("all", f"target {folder}"):
            counts[group] += Counter(
                {
                    "gold facts": 1,
                    "found": bool(matches),
                    "held": any(standing[f.citation.id] is FactStanding.HOLDS for f in matches),
                    "found under any name": any(_matches(entry | {"quantity": f.quantity}, f) for f in own),
                }
            )
    return {group: dict(count) for group, count in counts.items()}


def _gold(half: str) -> Iterator[tuple[str, dict]]:
    for file in sorted(GOLD.glob("*.jsonl")):
        if (file.stem in TUNED) == (half == "tuned on"):
            for line in file.read_text(encoding="utf-8").splitlines():
                yield file.stem, json.loads(line)


def _of_target(kb: KnowledgeBase, entry: dict, fact: Fact) -> bool:
    return fact.target == kb.targets.get(entry["target"]).name


def _matches(entry: dict, fact: Fact) -> bool:
    """Whether `fact` has the same quantity and value as the gold fact, with all its conditions."""
    wanted = fact.model_copy(
        update={
            "value": entry["value"],
            "unit": entry["unit"],
            "number": None if "x" in entry["value"] else float(entry["value"]),
            "condition": ", ".join(entry["condition"]),
        }
    )
    if fact.quantity != entry["quantity"] or not same_value(wanted, fact):
        return False
    return conditions(wanted) - {"per device"} <= conditions(fact)


def _folder(fact: Fact) -> str:
    return fact.citation.path.split("/")[0]


if __name__ == "__main__":
    main()
