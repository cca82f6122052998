"""Compare everything that `kb probe` measures on a device with its vendor's numbers, in two steps.

python -m benchmarks.probe --commit COMMIT --out FILE     on the device; needs only torch, triton and pydantic
python -m benchmarks.probe --compare FILE                 where kb is installed; adds the vendor's numbers
"""

import argparse
import json
import platform
import time
from pathlib import Path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--commit", default="unknown", help="commit of the checkout, unknown on a device without git")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--compare", type=Path)
    options = parser.parse_args()
    if options.compare:
        result = json.loads(options.compare.read_text(encoding="utf-8"))
        result["beside_the_vendor"] = beside_the_vendor(result["findings"])
        write(options.compare, result)
    else:
        write(options.out, measured(options.commit))


def measured(commit: str) -> dict:
    """Readings with their samples and their origin."""
    from eval.probe.prober import probe

    start = time.perf_counter()
    findings = probe(lambda done, total: print(f"{done}/{total} {time.perf_counter() - start:.0f} s", flush=True))
    return {
        "date": findings.date,
        "commit": commit,
        "device": findings.device.name,
        "versions": dict(entry.split(" ", 1) for entry in findings.device.software)
        | {"python": platform.python_version()},
        "seconds": round(time.perf_counter() - start, 1),
        "findings": rounded(findings.model_dump(mode="json")),
    }


def beside_the_vendor(findings: dict) -> list[dict]:
    """Each reading that the vendor also states, with the ratio of measured to stated."""
    import tempfile

    from kb.facts.probe_results import compare, target_of
    from kb.settings import Settings
    from kb.types.measurement import Findings
    from kb.usecases.knowledge_base import KnowledgeBase
    from kb.usecases.probing import stated_facts

    found = Findings.model_validate(findings)
    with tempfile.TemporaryDirectory() as home, KnowledgeBase(Settings(home=Path(home), embedding_model="none")) as kb:
        compared = compare(found.readings, stated_facts(kb, target_of(kb.targets, found.device)))
    return [
        {
            "quantity": c.reading.quantity,
            "condition": c.reading.condition,
            "measured": c.measured_text,
            "stated": f"{c.stated_text} ({c.stated.condition})",
            "ratio": rounded(c.ratio),
            "differs": c.differs,
        }
        for c in compared
        if c.stated
    ]


def rounded(value: object) -> object:
    """`value` with all numbers in it rounded to six digits."""
    return json.loads(json.dumps(value), parse_float=lambda digits: float(f"{float(digits):.6g}"))


def write(file: Path, result: dict) -> None:
    file.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
