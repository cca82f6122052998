"""The file of a campaign, and the tasks that it names or draws."""

import random
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from pydantic import BeforeValidator, Field, ValidationError

from eval.oracle.task import load_task
from kb.errors import CampaignError, TaskError
from kb.runs.journal import Rules
from kb.types.base import Frozen, reason_of
from kb.types.campaign import Amounts, Skills
from kb.types.kernels import Precision, Task
from synth.search.moves import NEAR_ROOF, WRITTEN, SearchName, SearchPart

DEFINITION = "definition"
"""Name of a task's file whose folder has its name, as in SOL-ExecBench."""
_WHICH = {True: Skills.ALL, False: Skills.NONE}


class Arm(Frozen):
    """What authors get beside task and contract, and how their answers are searched. Arms are compared."""

    name: str = Field(default="kb", min_length=1)
    documents: bool = True
    skills: Annotated[Skills, BeforeValidator(lambda value: _WHICH.get(value, value))] = Skills.ALL
    rules: Rules = Rules.LEARNT
    search: SearchName = "two-level"
    without: tuple[SearchPart, ...] = ()


class Budget(Amounts):
    """The most that the whole campaign may take, and that one run may."""

    task: Amounts = Amounts()

    def __str__(self) -> str:
        return f"{super().__str__()}; for each task {self.task}"


class TaskSet(Frozen):
    """One `[[tasks]]` table: a folder of tasks, or files."""

    folder: Path | None = None
    files: tuple[Path, ...] = ()
    names: tuple[str | int, ...] = ()
    """Of the folder's tasks only these, by name or by the number with which it begins."""
    exclude: tuple[str | int, ...] = ()
    draw: int | None = Field(default=None, gt=0)
    """How many of them are drawn at random."""
    seed: int | None = None
    group: str = ""
    """Default: the name of the folder."""
    precision: Precision = Precision.DEFAULT


class CampaignFile(Frozen):
    """What the file says."""

    name: str = Field(default="", pattern=r"^[A-Za-z0-9._-]*$")
    targets: tuple[str, ...] = Field(min_length=1)
    language: str | None = None
    authors: tuple[str, ...] = Field(min_length=1)
    judge: Literal["here", "rounds", "carried"] = "here"
    seed: int = 0
    near_roof: float = Field(default=NEAR_ROOF, ge=0)
    budget: Budget = Budget()
    tasks: tuple[TaskSet, ...] = Field(min_length=1)
    arms: tuple[Arm, ...] = Field(default=(Arm(),), min_length=1)


class GroupedTask(Frozen):
    group: str
    task: Task


class Cell(NamedTuple):
    """What one run is for."""

    group: str
    task: Task
    target: str
    arm: Arm

    @property
    def key(self) -> tuple[str, str, str]:
        return self.task.digest, self.target, self.arm.name


class Campaign(Frozen):
    """A campaign with its tasks. Fields as in `CampaignFile`."""

    name: str
    targets: tuple[str, ...]
    language: str | None
    authors: tuple[str, ...]
    judge: Literal["here", "rounds", "carried"]
    seed: int
    near_roof: float = NEAR_ROOF
    budget: Budget
    tasks: tuple[GroupedTask, ...]
    arms: tuple[Arm, ...]

    @property
    def cells(self) -> list[Cell]:
        """One for each run, in order: those of a task stand together."""
        return [
            Cell(one.group, one.task, target, arm) for one in self.tasks for target in self.targets for arm in self.arms
        ]

    @property
    def each(self) -> Amounts:
        """The most that one run may take."""
        own, whole = self.budget.task, self.budget
        most = own.evaluations or whole.evaluations or WRITTEN
        return own.model_copy(update={"evaluations": most})

    def differences(self, before: "Campaign") -> list[str]:
        """What is not as it was, in words."""
        found = [name for name in type(self).model_fields if getattr(self, name) != getattr(before, name)]
        words = []
        for name in found:
            if name != "tasks":
                words.append(name)
                continue
            old, new = ({(one.group, one.task) for one in each.tasks} for each in (before, self))
            changed = sorted({task.name for _, task in old ^ new})
            words.append(f"tasks ({', '.join(changed)})" if changed else "the order of tasks")
        return words


def read_campaign(path: Path) -> Campaign:
    """The campaign of a file; paths in it are relative to its folder.

    Raises:
        CampaignError: the file is not right, or a task is missing, is none, or is named twice.
    """
    try:
        said = CampaignFile.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise CampaignError(f"cannot read {path}: {error}", hint="see docs/campaigns.md for its form") from error
    except ValidationError as error:
        raise CampaignError(f"{path}: {reason_of(error)}", hint="see docs/campaigns.md for its form") from error
    tasks = tuple(one for each in said.tasks for one in _tasks(each, path))
    _must_be_different("tasks", [f"{one.task.name} ({one.task.digest[:12]})" for one in tasks], path)
    _must_be_different("targets", said.targets, path)
    _must_be_different("arms", [arm.name for arm in said.arms], path)
    return Campaign(**{**dict(said), "name": said.name or path.stem, "tasks": tasks})


def _must_be_different(what: str, names: Sequence[str], path: Path) -> None:
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        raise CampaignError(f"{path}: {what} named twice: {', '.join(twice)}", hint="name each once")


def _tasks(said: TaskSet, path: Path) -> Iterator[GroupedTask]:
    """The tasks of one table, in order of their names if they are drawn or in a folder."""
    if (said.folder is None) == (not said.files):
        raise CampaignError(f"{path}: a [[tasks]] table names a folder or files", hint="give it one of the two")
    if said.draw and said.seed is None:
        raise CampaignError(f"{path}: a draw needs a seed", hint="add `seed = 1` to its table, before the first run")
    found = [_file(path, file) for file in said.files] if said.folder is None else _in_folder(path, said)
    if said.draw and said.draw > len(found):
        raise CampaignError(
            f"{path}: {said.draw} tasks are drawn of {len(found)}", hint="draw fewer, or exclude fewer tasks"
        )
    if said.draw:
        chance = random.Random(said.seed)  # noqa: S311 - a draw that anybody can repeat
        found = sorted(chance.sample(found, said.draw), key=lambda file: _order(file))
    for file in found:
        try:
            task = load_task(file, said.precision)
        except TaskError as error:
            raise CampaignError(f"{path}: {error.message}", hint=error.hint) from error
        group = said.group or (said.folder.name if said.folder else file.absolute().parent.name)
        yield GroupedTask(group=group, task=task)


def _file(path: Path, file: Path) -> Path:
    return path.parent / file.expanduser()


def _in_folder(path: Path, said: TaskSet) -> list[Path]:
    """The files of tasks in a folder that are named and not excluded."""
    assert said.folder is not None  # noqa: S101 - the caller knows
    folder = _file(path, said.folder)
    files = (file for suffix in ("py", "json") for file in folder.rglob(f"*.{suffix}"))
    known = sorted((file for file in files if _is_task(file)), key=_order)
    if not known:
        raise CampaignError(
            f"{path}: {folder} holds no task", hint="name a folder of tasks, such as KernelBench's level1"
        )
    for name in (*said.names, *said.exclude):
        if not any(_is_named(file, name) for file in known):
            raise CampaignError(f"{path}: {folder} has no task {name!r}", hint="name a file without its suffix")
    return [
        file
        for file in known
        if (not said.names or any(_is_named(file, name) for name in said.names))
        and not any(_is_named(file, name) for name in said.exclude)
    ]


def _is_task(file: Path) -> bool:
    with suppress(TaskError):
        load_task(file)
        return True
    return False


def _name(file: Path) -> str:
    return file.parent.name if file.stem == DEFINITION else file.stem


def _order(file: Path) -> tuple[int, str]:
    """By number, as KernelBench's files begin with one, and then by name."""
    number = _name(file).partition("_")[0]
    return (int(number) if number.isdecimal() else 0, str(file))


def _is_named(file: Path, name: str | int) -> bool:
    own = _name(file)
    return own == str(name) or own.partition("_")[0] == str(name)
