"""Writes runs in the forms that other tools load."""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from eval.oracle.task import load_task
from kb.campaign.results import best_baselines, result_of
from kb.errors import RunError, TaskError
from kb.exports.attempts import Kept, kept_of
from kb.exports.failures import failures
from kb.exports.flashinfer import FLASHINFER, SOL_EXECBENCH, Dialect, write_solutions
from kb.exports.hub import write_packages
from kb.exports.kernelbench import write_kernelbench
from kb.exports.tables import write_table
from kb.exports.trajectories import attempt_records, preferences, traces
from kb.runs.journal import Run
from kb.storage import write_whole
from kb.types.base import Frozen

if TYPE_CHECKING:
    from kb.usecases.knowledge_base import KnowledgeBase

MANIFEST = "export.json"


class Exported(Frozen):
    """What an export wrote; it is in the folder, too."""

    form: str
    folder: str
    runs: tuple[str, ...]
    files: dict[str, int]
    """The number of records by file."""
    held_back: int
    """Number of attempts that were left out because of private documents, or of documents that are gone."""
    left_out: dict[str, int]
    """Why this form cannot hold something, and for how many attempts."""


@dataclass(frozen=True)
class Source:
    """What is exported."""

    kb: "KnowledgeBase"
    runs: Sequence[Run]
    kept: Sequence[Kept]
    held_out: frozenset[str]
    """Sources of tasks."""
    with_passages: bool
    definitions: Sequence[Path]
    level: int
    licence: str


@dataclass
class Written:
    """What one form wrote."""

    files: dict[str, int]
    left_out: Mapping[str, int] = field(default_factory=dict)


def _trajectories(source: Source, folder: Path) -> Written:
    kept, held_out, best = source.kept, source.held_out, best_baselines(source.runs)
    records = attempt_records(source.kb, kept, held_out, with_passages=source.with_passages)
    return Written({
        **write_table(folder, "attempts", records),
        **write_table(folder, "preferences", list(preferences(kept, held_out))),
        **write_table(folder, "traces", list(traces(kept, held_out))),
        **write_table(folder, "results", [result_of(run, best=best) for run in source.runs]),
    })  # fmt: skip


def _failures(source: Source, folder: Path) -> Written:
    return Written(write_table(folder, "failures", list(failures(source.kept, source.held_out))))


def _solutions(dialect: Dialect) -> Callable[[Source, Path], Written]:
    return lambda source, folder: Written(*write_solutions(source.kept, folder, dialect, source.definitions))


def _kernelbench(source: Source, folder: Path) -> Written:
    return Written(*write_kernelbench(source.kept, folder, source.level))


def _hub(source: Source, folder: Path) -> Written:
    return Written(*write_packages(source.kb, source.kept, folder, source.licence))


FORMS: dict[str, Callable[[Source, Path], Written]] = {
    "trajectories": _trajectories,
    "failures": _failures,
    "flashinfer": _solutions(FLASHINFER),
    "sol-execbench": _solutions(SOL_EXECBENCH),
    "kernelbench": _kernelbench,
    "hub": _hub,
}


def export(
    kb: "KnowledgeBase",
    runs: Sequence[Run],
    form: str,
    folder: Path,
    *,
    held_out: Sequence[Path] = (),
    with_passages: bool = False,
    definitions: Sequence[Path] = (),
    level: int = 0,
    licence: str = "",
) -> Exported:
    """Write runs to a new folder, or an empty one.

    Args:
        form: A name in `FORMS`.
        held_out: Files of tasks, or folders of them, that are held out for tests.
        with_passages: Whether prompts keep the words of documents.
        definitions: Files of definitions of FlashInfer-Trace or SOL-ExecBench of which tasks were made.
        level: That of the problems, for KernelBench.
        licence: Under which the user publishes kernels on the Hub, by its id there.

    Raises:
        RunError: there is no such form, it lacks a level or a licence, or the folder is in use or cannot be written.
        TaskError: there is no task in `held_out`, or a definition cannot be read.
    """
    if form not in FORMS:
        raise RunError(f"kb exports no {form}", hint=f"known: {', '.join(FORMS)}")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise RunError(f"{folder} exists and is not an empty folder", hint="name a new folder")
    distinct = list({run.id: run for run in runs}.values())
    kept = [one for run in distinct for one in kept_of(kb, run)]
    source = Source(kb, distinct, kept, _sources(held_out), with_passages, definitions, level, licence)
    try:
        written = FORMS[form](source, folder)
        done = Exported(
            form=form,
            folder=str(folder),
            runs=tuple(run.id for run in distinct),
            files=written.files,
            held_back=sum(len(run.attempts) for run in distinct) - len(kept),
            left_out=dict(written.left_out),
        )
        write_whole(folder / MANIFEST, json.dumps(done.model_dump(mode="json", exclude={"folder"}), indent=1) + "\n")
    except OSError as error:
        raise RunError(f"cannot write {folder}: {error}", hint="name a folder that you can write") from error
    return done


def _sources(paths: Sequence[Path]) -> frozenset[str]:
    return frozenset(source for path in paths for source in _tasks(path))


def _tasks(path: Path) -> list[str]:
    """The source of the task in a file, or of all in a folder. Raises TaskError if there is none."""
    if not path.is_dir():
        return [load_task(path).source]
    found = []
    for file in (file for file in sorted(path.rglob("*")) if file.suffix in (".py", ".json")):
        with suppress(TaskError):  # a folder of tasks may hold other files
            found.append(load_task(file).source)
    if not found:
        raise TaskError(f"{path} holds no task", hint="name a task, or a folder of tasks")
    return found
