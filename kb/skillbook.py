"""The library of skills on disk: directories in the Agent Skills form ⇄ `Skill`."""

import difflib
import json
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import yaml
from pydantic import Field, ValidationError

from kb.catalog import storage_errors, write_lock
from kb.errors import SkillError
from kb.evidence import Evidence
from kb.kernels import Candidate, Language
from kb.model import Frozen
from kb.skill import Skill, Standing

SHIPPED = Path(__file__).parent / "skills"
ANY = "any"
"""The target of skills that every target may use."""
MAX_FILE_BYTES = 2**22
COLUMN_WEIGHTS = (4.0, 4.0, 1.0, 1.0, 1.0)
"""Of name, description, body, code, identifiers in BM25: what a skill is about before what it mentions."""
FAILURES_SHOWN = 12

_SKILL_MD = re.compile(r"---[ \t]*\r?\n(?P<front>.{0,20000}?)^---[ \t]*(?:\r?\n|\Z)(?P<body>.*)", re.M | re.S)
_STAGE = ".stage-"


def _hyphens(field: str) -> str:
    return field.replace("_", "-")


class _Metadata(Frozen, alias_generator=_hyphens, populate_by_name=True, extra="allow"):
    """What kb keeps in the one field that the specification leaves open."""

    __pydantic_extra__: dict[str, str]
    kb_schema: Literal["1"]
    kb_target: str = Field(min_length=1)
    kb_language: Language
    kb_code_digest: str
    kb_task: str = ""
    """Of its best win, as is the next."""
    kb_task_digest: str = ""


class _FrontMatter(Frozen, alias_generator=_hyphens, populate_by_name=True):
    """All fields and limits of the Agent Skills specification."""

    name: str = Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=64)
    description: str = Field(pattern=r"\S", max_length=1024)
    license: str = ""
    compatibility: str = Field(default="", max_length=500)
    metadata: _Metadata
    allowed_tools: str = ""


class Skillbook:
    """The skills that ship with kb, which are never written, and those of a home, which replace them by name."""

    def __init__(self, home: Path, *, shipped: Path = SHIPPED) -> None:
        self.home = home
        self.folder = home / "skills"
        self.shipped = shipped

    def skills(self, *, scope: frozenset[str] | None = None, language: Language | None = None) -> list[Skill]:
        """The well-formed skills by name; with `scope`, those for a target in it or for `any`."""
        found = {skill.name: skill for _, skill in self._read() if isinstance(skill, Skill)}
        return [
            skill
            for _, skill in sorted(found.items())
            if (scope is None or skill.target in scope | {ANY}) and language in (None, skill.candidate.language)
        ]

    def problems(self) -> list[tuple[Path, SkillError]]:
        """The directories that are malformed, and why."""
        return [(folder, error) for folder, error in self._read() if isinstance(error, SkillError)]

    def get(self, name: str) -> Skill:
        """The skill of that name.

        Raises:
            SkillError: it is malformed, or there is none; the hint then names the nearest.
        """
        known = {skill.name: skill for skill in self.skills()}
        if name in known:
            return known[name]
        for folder, error in self.problems():
            if folder.name == name:
                raise error
        near = difflib.get_close_matches(name, known, n=3)
        hint = f"did you mean {', '.join(near)}? " if near else ""
        raise SkillError(f"unknown skill {name!r}", hint=f"{hint}`kb skills list` shows all")

    def search(
        self, query: str, *, scope: frozenset[str] | None = None, language: Language | None = None, limit: int = 5
    ) -> list[Skill]:
        """The skills that pass the filters of `skills` and share a word with `query`, best first.

        When none shares a word, all that pass are ranked. Equals are ranked by standing, then by speed-up.
        """
        skills = self.skills(scope=scope, language=language)
        scores = _scores(skills, query) or dict.fromkeys(range(len(skills)), 0.0)

        def rank(place: int) -> tuple[float, int, float, int]:
            skill = skills[place]
            speedup = (skill.best.speedup if skill.best else None) or 0.0
            return -round(scores[place], 2), list(Standing).index(skill.standing), -speedup, place

        return [skills[place] for place in sorted(scores, key=rank)[:limit]]

    def publish(self, skill: Skill) -> Skill:
        """Add a skill, or its evidence to a skill with the same code; whole or not at all. Gives what then stands.

        Raises:
            SkillError: it would be malformed, or the name stands for other code.
            StoreError: the home cannot be written, is full, or another process writes it.
        """
        folder, files = self.folder / skill.name, _files_of(skill)
        _parse(folder, files)
        with write_lock(self.home), storage_errors(self.home):
            for held in (self.shipped / skill.name, folder):
                if held.exists() and load_skill(held).candidate != skill.candidate:
                    raise SkillError(
                        f"{held} holds other code",
                        hint="the code of a skill never changes: publish other code under another name",
                    )
            self.folder.mkdir(parents=True, exist_ok=True)
            for remains in self.folder.glob(f"{_STAGE}*"):  # of a process that died with the lock
                shutil.rmtree(remains)
            self._move_in(folder, files)
        return load_skill(folder)

    def _move_in(self, folder: Path, files: Mapping[str, bytes]) -> None:
        """Write `files` aside, then rename the folder into place or, when it is there, the evidence that it lacks."""
        with tempfile.TemporaryDirectory(prefix=_STAGE, dir=self.folder) as stage:
            staged = Path(stage) / folder.name
            for path, content in files.items():
                (staged / path).parent.mkdir(parents=True, exist_ok=True)
                (staged / path).write_bytes(content)
                _sync(staged / path)
            if folder.exists():
                (folder / "evidence").mkdir(exist_ok=True)
                for path in files:
                    if path.startswith("evidence/") and not (folder / path).exists():
                        (staged / path).rename(folder / path)
                _sync(folder / "evidence", folder)
            else:
                _sync(*{(staged / path).parent for path in files})
                staged.rename(folder)
        _sync(self.folder, self.home)

    def _read(self) -> Iterator[tuple[Path, Skill | SkillError]]:
        for root in (self.shipped, self.folder):
            with storage_errors(self.home):
                folders = sorted(p for p in root.iterdir() if p.is_dir()) if root.is_dir() else []
            for folder in folders:
                if not folder.name.startswith("."):
                    try:
                        yield folder, load_skill(folder)
                    except SkillError as error:
                        yield folder, error


def load_skill(folder: Path) -> Skill:
    """The skill in a directory, with its evidence in the order it was made.

    Raises:
        SkillError: it is malformed; the message names all that is wrong.
    """
    files = {}
    try:
        for path in (p for name in ("SKILL.md", "scripts/kernel.*", "evidence/*.json") for p in folder.glob(name)):
            if path.is_file():
                with path.open("rb") as file:
                    files[path.relative_to(folder).as_posix()] = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise SkillError(f"{folder} cannot be read: {error}", hint="correct its permissions") from error
    return _parse(folder, files)


def _parse(folder: Path, files: Mapping[str, bytes]) -> Skill:
    """The skill that `files`, by their paths in `folder`, make up."""
    problems: list[str] = []
    front, candidate, evidence = None, None, []
    with _noting(problems, "SKILL.md"):
        front, body = _split(_text(files, "SKILL.md"))
        if front.name != folder.name:
            problems.append(f"SKILL.md: name {front.name!r} is not that of the directory")
        script = f"scripts/kernel{front.metadata.kb_language.suffix}"
        candidate = Candidate(language=front.metadata.kb_language, source=_text(files, script))
        if front.metadata.kb_code_digest != f"sha256:{candidate.digest}":
            problems.append(f"{script}: kb-code-digest is not the kernel's, sha256:{candidate.digest}")
    for path in sorted(path for path in files if path.startswith("evidence/")):
        with _noting(problems, path):
            record = Evidence.model_validate_json(_text(files, path))
            evidence.append(record)
            if not path.endswith(f"-{record.id[:12]}.json"):
                problems.append(f"{path}: altered or misnamed, as its id begins with {record.id[:12]}")
    if problems or not (front and candidate):
        raise SkillError(
            f"{folder} is not a skill: {'; '.join(problems)}", hint="correct what is named, or remove the directory"
        )
    return Skill(
        name=front.name,
        description=front.description,
        body=body,
        target=front.metadata.kb_target,
        candidate=candidate,
        evidence=tuple(sorted(evidence, key=lambda e: (e.created, e.id))),
        folder=folder,
    )


def _split(text: str) -> tuple[_FrontMatter, str]:
    """Front matter and body."""
    parts = _SKILL_MD.fullmatch(text)
    if parts is None:
        raise ValueError("it has no front matter between two lines `---`, or too much")
    if "---" in parts["front"]:
        raise ValueError("its front matter has `---` inside a line, where the specification's own reader ends it")
    # BaseLoader reads text, lists and mappings alone. SafeLoader lets a few lines of merge keys fill the memory.
    fields = yaml.load(parts["front"], Loader=yaml.BaseLoader)  # noqa: S506
    return _FrontMatter.model_validate(fields), parts["body"].removeprefix("\n").removesuffix("\n")


def _text(files: Mapping[str, bytes], path: str) -> str:
    if path not in files:
        raise ValueError(f"{path} is missing")
    if len(files[path]) > MAX_FILE_BYTES:
        raise ValueError(f"{path} has more than {MAX_FILE_BYTES} bytes")
    return files[path].decode()


@contextmanager
def _noting(problems: list[str], path: str) -> Iterator[None]:
    """Note what is wrong with a file and go on. On hostile text parsers raise more than errors of their own."""
    try:
        yield
    except ValidationError as error:
        problems += [f"{path}: {'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()]
    except (ValueError, ArithmeticError, RecursionError, yaml.YAMLError) as error:
        problems.append(f"{path}: {_line(str(error), 300)}")


def _files_of(skill: Skill) -> dict[str, bytes]:
    """What `_parse` reads, by path."""
    metadata = {
        "kb-schema": "1",
        "kb-target": skill.target,
        "kb-language": skill.candidate.language.value,
        "kb-code-digest": f"sha256:{skill.candidate.digest}",
    }
    if win := skill.best:
        metadata |= {"kb-task": win.task, "kb-task-digest": f"sha256:{win.task_digest}"}
    fields = {"name": skill.name, "description": skill.description, "metadata": metadata}
    front = yaml.safe_dump(fields, sort_keys=False, allow_unicode=True, width=100)
    texts = {
        "SKILL.md": f"---\n{front}---\n\n{skill.body}\n",
        f"scripts/kernel{skill.candidate.language.suffix}": skill.candidate.source,
    }
    for record in skill.evidence:
        name = f"{_slug(f'{record.created[:10]}-{record.target}')}-{record.id[:12]}"
        texts[f"evidence/{name}.json"] = json.dumps(record.model_dump(mode="json"), indent=1, sort_keys=True)
    return {path: text.encode(errors="replace") for path, text in texts.items()}
