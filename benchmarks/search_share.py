"""Measure for how much of a run the judge works while an author takes its time for each answer.

    python -m benchmarks.search_share examples/recorded/logsumexp --out benchmarks/results/search-share-cpu.json

The author gives the recorded answers to `examples/logsumexp.py`, then each again as a kernel that differs in a comment.
Some runs have the kernels with their parameters, others without their `// tune:` comments. Verdicts are real.
"""

import argparse
import os
import re
import tempfile
import time
from itertools import cycle, islice
from pathlib import Path
from unittest import mock

import kb as knowledge
from benchmarks.origin import write_result
from benchmarks.sized_task import sized_task
from kb.runs.journal import Run
from kb.usecases.knowledge_base import KnowledgeBase
from synth.authors.author import Ask, Reply
from synth.authors.recorded import RecordedAuthor

LIBRARIES = ("kb-hardware", "torch")
ANSWERS = 12
TUNED = re.compile(r" *// tune:.*")
AUTHOR = "kb.usecases.authors.RecordedAuthor"
CODE = re.compile(r"^```cpp$", re.MULTILINE)


class SlowAuthor(RecordedAuthor):
    """Gives a recorded answer after `answer_s`."""

    answer_s = 0.0

    def answer(self, ask: Ask) -> Reply:
        time.sleep(self.answer_s)
        return super().answer(ask)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("answers", type=Path)
    parser.add_argument("--target", default="cpu-x86")
    parser.add_argument("--answer-s", type=float, default=30.0)
    parser.add_argument("--tuned", type=int, nargs="*", default=[11], help="evaluations of the runs with parameters")
    parser.add_argument("--plain", type=int, nargs="*", default=[4, 8], help="and of those without")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    SlowAuthor.answer_s = options.answer_s
    texts = [file.read_text(encoding="utf-8") for file in sorted(options.answers.iterdir())]
    plain = [TUNED.sub("", text) for text in texts]
    wanted = [("with", texts, count) for count in options.tuned]
    wanted += [("without", plain, count) for count in options.plain]
    runs = {}
    for name, own, count in wanted:
        with tempfile.TemporaryDirectory() as folder:
            answers = Path(folder) / "answers"
            answers.mkdir()
            for number, text in enumerate(islice(cycle(own), ANSWERS)):
                (answers / f"{number:03}.md").write_text(CODE.sub(f"```cpp\n// {number}", text), encoding="utf-8")
            with knowledge.open(Path(folder) / "home") as kb, mock.patch(AUTHOR, SlowAuthor):
                found = measured(kb, answers, options.target, count)
        runs[f"{name} parameters, {count} evaluations"] = found | {"load average at its end": os.getloadavg()[0]}
    write_result(options.out, {"seconds of each answer": options.answer_s, "runs": runs}, LIBRARIES)


def measured(kb: KnowledgeBase, answers: Path, target: str, evaluations: int) -> dict[str, object]:
    """One run, and what took its time."""
    plan = kb.plan(sized_task("logsumexp.py"), target, authors=[f"recorded:{answers}"], evaluations=evaluations)
    start = time.monotonic()
    run = kb.optimize(plan)
    return parts(run, time.monotonic() - start)


def parts(run: Run, wall_s: float) -> dict[str, object]:
    verdicts = [round(one.evidence.took.seconds, 1) for one in run.attempts if one.evidence.took]
    return {
        "wall_s": round(wall_s, 1),
        "answers": len(run.exchanges),
        "kernels that an author wrote": sum(one.stage is not None for one in run.attempts),
        "seconds of each verdict": verdicts,
        "settings": len(run.tried),
        "seconds of all settings": round(sum(one.took_s for one in run.tried), 1),
        "share of the device": round(run.judged_s / wall_s, 3),
        "outcomes": [one.evidence.outcome for one in run.attempts],
        "ended": run.ended,
    }


if __name__ == "__main__":
    main()
