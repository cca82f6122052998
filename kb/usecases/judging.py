"""The judge for a target on this machine, and the languages in which its kernels are written."""

import os
import platform
import sys

from eval.batch.pack import code_digest
from eval.judge.driver import LocalJudge
from eval.judge.staying import Stay, socket_path
from eval.languages.registry import described_language
from eval.languages.toolchain import ToolchainLanguage
from eval.machine import usable_cores
from kb.errors import CandidateError, JudgeError
from kb.settings import cache_dir
from kb.types.kernels import Interface, Language, Task, digest_of
from kb.types.target import CPU, Isa
from kb.usecases.fact_lookup import known_facts
from kb.usecases.home import Home
from synth.briefing.topics import language_named

PER_COMMAND = {"_", "SHLVL", "PWD", "OLDPWD"}
"""Environment variables that differ between commands of the same shell."""


def interface_of(home: Home, task: Task, target: str) -> Interface:
    """The tensors of a task, the same on every device, and the errors allowed. Its reference runs on the CPU."""
    name, here = home.targets.get(target).name, Isa(CPU, platform.machine())
    with LocalJudge(task, target=name, isa=here, facts=(), cache=cache_dir(), describe=True) as judge:
        return judge.interface


def judge_for(home: Home, task: Task, target: str, language: str) -> LocalJudge:
    """A judge for one task, target and language on this machine, with the target's facts as limits."""
    name = home.targets.get(target).name
    judged = home.toolchains.judges(name).get(language)
    stay = socket_path(home.settings.home) if home.settings.judge_stays_s else None
    return LocalJudge(
        task,
        target=name,
        isa=home.targets.isa(name),
        facts=known_facts(home, name),
        cache=cache_dir(),
        toolchain=judged if isinstance(judged, ToolchainLanguage) else None,
        stay=Stay(stay, home.settings.judge_stays_s, _made_of()) if stay else None,
    )


def _made_of() -> str:
    """The version of the judge's code, and what it inherits of this process."""
    variables = sorted((name, value) for name, value in os.environ.items() if name not in PER_COMMAND)
    return digest_of(repr((code_digest(), sys.executable, variables, usable_cores())))


def written_in(home: Home, target: str, name: str | None) -> Language:
    """The language `name` for kernels of a target (None: the usual one); any language if the target has no judge.

    Raises:
        CandidateError: the target's kernels are judged, and not written in this language; or it has no judge, and no
            language is named.
    """
    try:
        fitting = home.toolchains.judges(target)
    except JudgeError as error:
        if name is None:
            hint = "name the language that its documents describe: --language c"
            raise CandidateError(f"kb knows no compiler for {target}", hint=hint) from error
        return described_language(language_named(name))
    if name is None:
        return next(iter(fitting.values()))
    name = language_named(name)
    if name not in fitting:
        raise CandidateError(f"kernels for {target} are not written in {name}", hint=f"write {' or '.join(fitting)}")
    return fitting[name]
