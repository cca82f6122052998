"""The tasks of the folders that the user named: the only ones whose code kb runs for an agent."""

from contextlib import suppress
from os.path import isfile, realpath  # they take a name that is too long, or links in a circle, too
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from kb.errors import TaskError
from kb.types.base import Frozen
from kb.views.response import Listing

if TYPE_CHECKING:
    from kb.types.kernels import Task
    from kb.usecases.knowledge_base import KnowledgeBase


class TaskFile(Frozen):
    file: str
    """Its path in the folder that the user named."""
    about: str


class TaskFiles(Listing):
    of: ClassVar[str] = "tasks"
    named: ClassVar[str] = "file"
    tasks: tuple[TaskFile, ...]


def tasks_for_agents(kb: "KnowledgeBase") -> TaskFiles:
    """The tasks in the folders that the user named, without those in hidden folders. None of their code runs."""
    from eval.oracle.task import load_task
    from kb.runs.skills import task_words

    found = []
    for folder in _task_folders(kb):
        for path in sorted((*folder.rglob("*.py"), *folder.rglob("*.json"))):
            within, real = path.relative_to(folder), Path(realpath(path))
            is_hidden = any(part.startswith(".") for part in within.parts)
            if not is_hidden and real.is_relative_to(folder) and real.is_file():  # to read a pipe may take for ever
                with suppress(TaskError):  # a folder of tasks may hold other files
                    found.append(TaskFile(file=str(within), about=task_words(load_task(path))))
    return TaskFiles(tasks=tuple(found))


def _task_folders(kb: "KnowledgeBase") -> list[Path]:
    return [folder.expanduser().resolve() for folder in kb.settings.task_folders]


def task_for_agents(kb: "KnowledgeBase", file: str) -> "Task":
    """A task in a folder that the user named, by its path or that in the folder. Raises TaskError if it is none."""
    from eval.oracle.task import load_task

    folders = _task_folders(kb)
    try:
        paths = [(place / Path(file).expanduser()).resolve() for place in (Path.cwd(), *folders)]
    except (ValueError, RuntimeError) as error:  # it holds a NUL, or names the home of an unknown account
        raise TaskError(f"{file!r} is no path: {error}", hint="give the path of a task's file") from error
    allowed = [path for path in paths if any(path.is_relative_to(folder) for folder in folders)]
    if not allowed:
        named = ", ".join(map(str, folders)) or "none"
        raise TaskError(
            f"{file} lies in no folder whose tasks kb may run for an agent: {named}",
            hint="kb_tasks lists the tasks in them; the user names another folder: kb mcp --tasks FOLDER",
        )
    if not (found := next(filter(isfile, allowed), None)):
        raise TaskError(f"{file} cannot be read: there is no such file", hint="kb_tasks lists the tasks")
    return load_task(found)
