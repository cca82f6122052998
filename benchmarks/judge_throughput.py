"""Measure how many candidates an hour the judge judges, right and wrong ones in turn.

    python -m benchmarks.judge_throughput --target cpu-x86 --out benchmarks/results/judge-throughput.json

For each task the candidates are the shipped template in the language that the target's device judges first, with other
values of its parameters each time, and after each of these as many wrong ones as `--wrong` says: the same kernel with
one element changed. One judge judges all candidates of a task, as in `kb optimize`; its start counts.
"""

import argparse
import random
import time
from collections.abc import Sequence
from functools import partial
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any

import kb as knowledge
from benchmarks.origin import origin
from benchmarks.parts import measure_parts
from benchmarks.sized_task import sized_task
from eval.devices.registry import device_for
from eval.judge.driver import LocalJudge
from eval.languages.registry import load_candidate
from kb.settings import cache_dir
from kb.types.kernels import Candidate
from kb.usecases.knowledge_base import KnowledgeBase

ROOT = Path(__file__).parents[1]
TASKS = (
    "exclusive_cumsum.py@ROWS=512,COLS=1024", "cross_entropy.py@ROWS=256,CLASSES=8000",
    "int8_matvec.py@INNER=4096,OUTER=1024", "softmax.py@ROWS=1024,COLS=1024",
)  # fmt: skip
LIBRARIES = ("kb-hardware", "torch")
WRONG = {
    "cpp": (
        "#define model_new right_new\n",
        """
#undef model_new
extern "C" void model_new(const Tensor *inputs, const Tensor *state, const double *init, Tensor *outputs) {
    right_new(inputs, state, init, outputs);
    if (outputs[0].count) static_cast<float *>(outputs[0].data)[outputs[0].count / 2] += 1;
}
""",
    ),
    "triton": (
        "",
        """
_right = ModelNew.forward


def _wrong(self, *inputs):
    outputs = _right(self, *inputs)
    outputs.view(-1)[outputs.numel() // 2] += 1
    return outputs


ModelNew.forward = _wrong
""",
    ),
}
"""What comes before and behind a kernel, by language, so that one element of its output is wrong."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--target", required=True)
    parser.add_argument("--tasks", nargs="+", default=TASKS, help="FILE or FILE@NAME=SIZE,... of examples/")
    parser.add_argument("--candidates", type=int, default=8, help="right ones for each task")
    parser.add_argument("--wrong", type=int, default=1, help="wrong ones after each right one")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--minutes", type=float, help="begin no task after that time; the same command goes on")
    options = parser.parse_args()
    head = origin(LIBRARIES) | {"target": options.target, "wrong after each right one": options.wrong}
    with knowledge.open() as kb:
        parts = {
            text: partial(judged, kb, text, options.target, options.candidates, options.wrong) for text in options.tasks
        }
        measure_parts(head, parts, options.out, options.minutes, an_hour)


def an_hour(tasks: Sequence[dict[str, Any]]) -> dict[str, int]:
    verdicts, seconds = (sum(task[name] for task in tasks) for name in ("verdicts", "seconds"))
    return {"candidates an hour": round(3600 * verdicts / seconds)}


def judged(kb: KnowledgeBase, text: str, target: str, count: int, wrong: int) -> dict[str, object]:
    """How long the verdicts on a task took; the first includes the judge's start."""
    task, isa = sized_task(text), kb.targets.isa(target)
    language = device_for(isa, target).languages[0]
    verdicts = []
    start = time.monotonic()
    with LocalJudge(task, target=target, isa=isa, facts=kb.known_facts(target), cache=cache_dir()) as judge:
        for candidate in stream(text.partition(".py")[0].replace("_", "-"), language, count, wrong):
            evidence = judge.verify(candidate)
            now = time.monotonic()
            busy = evidence.timing is not None and evidence.timing.busy
            verdicts.append(("busy" if busy else evidence.outcome, now - start))
            start = now
    return summary(verdicts)


def stream(operation: str, language: str, count: int, wrong: int) -> list[Candidate]:
    """Right kernels with values drawn anew, the same in every run, each followed by wrong ones."""
    [path] = (ROOT / "kb" / "skills" / f"{operation}-{language}" / "scripts").glob("kernel.*")
    template = load_candidate(path)
    choices = [[(p.name, value) for value in p.choices] for p in template.parameters]
    tunings = [template.with_parameters(dict(values)) for values in product(*choices)]
    random.Random(operation).shuffle(tunings)
    before, behind = WRONG[language]
    return [
        Candidate(language=language, source=f"{before}{tuning.source}{behind}" + "\n" * number) if number else tuning
        for tuning in tunings[:count]
        for number in range(wrong + 1)
    ]


def summary(verdicts: list[tuple[str, float]]) -> dict[str, object]:
    later = verdicts[1:]
    kinds = {outcome: [s for found, s in later if found == outcome] for outcome in dict(later)}
    return {
        "verdicts": len(verdicts),
        "seconds": round(sum(seconds for _, seconds in verdicts), 1),
        "first": round(verdicts[0][1], 1),
        "median of later ones": {
            str(outcome): [len(seconds), round(median(seconds), 1)] for outcome, seconds in kinds.items()
        },
    }


if __name__ == "__main__":
    main()
