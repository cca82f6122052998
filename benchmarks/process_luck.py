"""Find out how much processes with the same kernel differ in speed, from verdicts that `skills.py` kept.

    python -m benchmarks.process_luck VERDICTS --out benchmarks/results/process-luck-h100.json

Each session of a verdict has a new process for the candidate, and one of some processes for each baseline.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from kb.types.evidence import Evidence

SLOWER = (1.06, 1.25, 1.5)
"""A process counts as slower if it takes so many times as long as the fastest with the same kernel."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("verdicts", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    lines = map(json.loads, options.verdicts.read_text(encoding="utf-8").splitlines())
    result = luck([Evidence.model_validate(line["evidence"]) for line in lines if line["kind"] == "verdict"])
    options.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def luck(verdicts: Sequence[Evidence]) -> dict[str, object]:
    """What the verdicts say of processes with the same kernel.

    For each verdict it has the median time of each session in microseconds. It counts the sessions in which the
    candidate's process was slower than the fastest of the same verdict.
    """
    timed = [(evidence, evidence.timing) for evidence in verdicts if evidence.timing]
    lines = [
        {
            "task": f"{evidence.task} {evidence.task_digest[:12]}",
            "candidate": evidence.candidate_digest[:12],
            "baseline": timing.baseline,
            "candidate_us": [round(median(session.candidate_us), 1) for session in timing.sessions],
            "baseline_us": [round(median(session.baseline_us), 1) for session in timing.sessions],
        }
        for evidence, timing in timed
    ]
    times_us = [[median(session.candidate_us) for session in timing.sessions] for _, timing in timed]
    ratios = [time_us / min(of_one) for of_one in times_us for time_us in of_one]
    return {
        "targets": sorted({evidence.target for evidence, _ in timed}),
        "environments": list(dict.fromkeys(json.dumps(evidence.environment) for evidence, _ in timed)),
        "sessions": len(ratios),
        "slower than the fastest of the same verdict": {
            f"by a factor of {factor} or more": sum(ratio >= factor for ratio in ratios) for factor in SLOWER
        },
        "verdicts": lines,
    }


if __name__ == "__main__":
    main()
