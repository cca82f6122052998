"""The judge for a target on this machine, and the languages in which its kernels are written."""

import os
import platform
import re
import sys
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

from eval.batch.pack import code_digest
from eval.judge.driver import LocalJudge
from eval.judge.staying import Stay, socket_path
from eval.languages.registry import TORCH, described_language
from eval.languages.toolchain import ToolchainLanguage, missing_needs
from eval.machine import usable_cores
from kb.errors import CandidateError, JudgeError
from kb.settings import cache_dir
from kb.storage import write_whole
from kb.types.kernels import Interface, Language, Task, digest_of
from kb.types.target import CPU, Isa
from kb.usecases.fact_lookup import known_facts
from kb.usecases.home import Home
from synth.briefing.topics import language_named, topics

_FENCE = re.compile(r"^```(\w\S*)", re.MULTILINE)
LANGUAGES_SHOWN = 5
PER_COMMAND = {"_", "SHLVL", "PWD", "OLDPWD"}
"""Environment variables that differ between commands of the same shell."""


def interface_of(task: Task) -> Interface:
    """The tensors of a task, the same on every device, and the errors allowed. Its reference runs on the CPU, once."""
    if known := kept_interface(task):
        return known
    here = Isa(CPU, platform.machine())
    with LocalJudge(task, target=CPU, isa=here, facts=(), cache=cache_dir(), describe=True) as judge:
        with suppress(OSError):
            write_whole(_place_of_interface(task), judge.interface.model_dump_json())
        return judge.interface


def kept_interface(task: Task) -> Interface | None:
    """What `interface_of` gave before; None if the reference has to run."""
    with suppress(OSError, ValueError):
        return Interface.model_validate_json(_place_of_interface(task).read_bytes())
    return None


def _place_of_interface(task: Task) -> Path:
    """The file that keeps the interface of a task, as this torch and the code of the reference describe it."""
    code = [file.read_text(encoding="utf-8") for file in sorted(Path(str(files("eval.oracle"))).glob("*.py"))]
    digest = digest_of("\n".join((task.digest, version("torch"), *code)))
    return cache_dir() / "interfaces" / f"{digest}.json"


def judge_for(home: Home, task: Task, target: str, language: str) -> LocalJudge:
    """A judge for one task, target and language on this machine, with the target's facts as limits."""
    return judges_for(home, task, target, language)(stay=stay_of(home))


def judges_for(home: Home, task: Task, target: str, language: str) -> partial[LocalJudge]:
    """What starts such judges, in any thread and with an environment of their own."""
    name = home.targets.get(target).name
    judged = home.toolchains.judges(name).get(language)
    return partial(
        LocalJudge,
        task,
        target=name,
        isa=home.targets.isa(name),
        facts=known_facts(home, name),
        cache=cache_dir(),
        toolchain=judged if isinstance(judged, ToolchainLanguage) else None,
    )


def stay_of(home: Home, environment: Mapping[str, str] | None = None) -> Stay | None:
    """Where a judge stays; None if the settings want none, or no folder keeps others away from it."""
    waits_s = home.settings.judge_stays_s
    path = socket_path(home.settings.home) if waits_s else None
    if path is None:
        return None
    variables = {**os.environ, **(environment or {})}
    inherited = sorted((name, value) for name, value in variables.items() if name not in PER_COMMAND)
    return Stay(path, waits_s, digest_of(repr((code_digest(), sys.executable, inherited, usable_cores()))))


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


def must_be_known(home: Home, target: str, language: Language) -> None:
    """Raises CandidateError if nobody judges the language, and neither kb nor a document of the target names it."""
    known = {*topics().known, *topics().words["language"]}
    if language.judged or language.name in known:
        return
    spellings = [language.name, language.name.replace("-", "")]
    if not home.catalog.texts_with(spellings, targets=home.targets.scope(target), limit=1):
        message = f"neither kb nor a document of {target} names a language {language.name!r}"
        raise CandidateError(message, hint=f"kb knows {', '.join(sorted(known))}")


def unjudged(home: Home, target: str, language: str) -> str:
    """Why kb cannot judge kernels for a target, and in which languages its documents show code; empty if it can."""
    with suppress(JudgeError):
        judged = home.toolchains.judges(target)[language]
        lacks = missing_needs(judged.toolchain) if isinstance(judged, ToolchainLanguage) else []
        names = ", ".join(f"{need.name} (`{need.install}`)" for need in lacks)
        return f"kb cannot judge the answer here: this machine lacks {names}" if lacks else ""
    paths = [document.path for document in home.documents.stored(target)]
    texts = home.catalog.chunks_of(paths).values() if paths else ()
    own = topics().words["language"].get(language)  # a program in Python may be in a language that has Python's form

    def name_of(tag: str, text: str) -> str:
        name = language_named(tag)
        return language if name == TORCH.name and own and own.search(text) else name

    code = Counter(name_of(tag, text) for _, text in texts for tag in _FENCE.findall(text))
    shown = ", ".join(f"{name} ({times})" for name, times in code.most_common(LANGUAGES_SHOWN))
    about = (
        f"; its documents show code in {shown}" + f" and none in {language}" * (language not in code) if code else ""
    )
    return f"kb knows no compiler for {target}, so it cannot judge the answer{about}"
