"""Judge the candidates beside the tests with the toolchains that kb ships, one judge for each task and toolchain."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path

import pytest

from eval.judge.driver import LocalJudge
from eval.languages.registry import load_candidate
from eval.languages.toolchain import language_of_toolchain, missing_needs
from eval.oracle.task import load_task
from kb.settings import cache_dir
from kb.types.evidence import Evidence
from kb.types.fact import Fact
from kb.types.target import Isa
from kb.usecases.toolchains import SHIPPED, load

HERE = Path(__file__).parent
OPERATIONS = ("softmax", "matmul_bias", "row_sum", "gelu")


def needs(name: str) -> pytest.MarkDecorator:
    """Skip a test if a toolchain lacks something, and say what installs it."""
    missing = missing_needs(load(SHIPPED / f"{name}.toml"))
    reason = "; ".join(f"{need.name} is missing: {need.install}" for need in missing)
    return pytest.mark.skipif(bool(missing), reason=reason)


@contextmanager
def judged(
    name: str, *, isa: Isa | None = None, facts: tuple[Fact, ...] = ()
) -> Iterator[Callable[[str, Path], Evidence]]:
    """A function that judges a file on one of the tasks, by the task's name."""
    language = language_of_toolchain(load(SHIPPED / f"{name}.toml"), isa, cache_dir())
    with ExitStack() as judges:

        @cache
        def judge(task: str) -> LocalJudge:
            loaded = load_task(HERE / "tasks" / f"{task}.py")
            target = language.toolchain.targets[0]
            return judges.enter_context(
                LocalJudge(loaded, target=target, isa=isa, facts=facts, cache=cache_dir(), toolchain=language)
            )

        yield lambda task, file: judge(task).verify(load_candidate(file, [language]))
