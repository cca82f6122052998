"""Convert between a `Skill` and its files in the open Agent Skills format."""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import yaml
from pydantic import Field, ValidationError

from kb.errors import SkillError
from kb.model.base import Frozen
from kb.model.evidence import Evidence
from kb.model.kernels import Candidate, LanguageName
from kb.model.skill import Skill
from kb.storage import slug

MAX_FILE_BYTES = 2**22

_SKILL_MD = re.compile(r"---[ \t]*\r?\n(?P<front>.{0,20000}?)^---[ \t]*(?:\r?\n|\Z)(?P<body>.*)", re.M | re.S)


def _hyphens(field: str) -> str:
    return field.replace("_", "-")


class Metadata(Frozen, alias_generator=_hyphens, extra="allow"):
    """kb's entries in `metadata`, the one field that the specification leaves open."""

    __pydantic_extra__: dict[str, str]
    kb_schema: Literal["1"]
    kb_target: str = Field(pattern=r"^[a-z0-9][a-z0-9._-]*$")
    kb_language: LanguageName
    kb_code_digest: str


class FrontMatter(Frozen, alias_generator=_hyphens):
    """The fields and limits of the Agent Skills specification."""

    name: str = Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=64)
    description: str = Field(pattern=r"\S", max_length=1024)
    license: str = ""
    compatibility: str = Field(default="", max_length=500)
    metadata: Metadata
    allowed_tools: str = ""


def load_skill(folder: Path) -> Skill:
    """The skill in a directory, with its evidence in order of creation.

    Raises:
        SkillError: it is malformed; the message lists every problem.
    """
    files = {}
    try:
        for path in (p for name in ("SKILL.md", "scripts/kernel.*", "evidence/*.json") for p in folder.glob(name)):
            if path.is_file():
                with path.open("rb") as file:
                    files[path.relative_to(folder).as_posix()] = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise SkillError(f"{folder} cannot be read: {error}", hint="correct its permissions") from error
    return parse_skill(folder, files)


def parse_skill(folder: Path, files: Mapping[str, bytes]) -> Skill:
    """The skill made of `files`, which maps paths in `folder` to contents; errors as in `load_skill`."""
    problems: list[str] = []
    front, candidate, evidence = None, None, []
    with _noting(problems, "SKILL.md"):
        front, body = _split(_text(files, "SKILL.md"))
        if front.name != folder.name:
            raise ValueError(f"name {front.name!r} is not the name of the directory")
    if front:
        kernels = [path for path in files if path.startswith("scripts/kernel.")] or ["scripts/kernel.*"]
        script = kernels[0]
        with _noting(problems, script):
            if len(kernels) > 1:
                raise ValueError(f"it is not the only kernel: there is also {kernels[1]}")
            candidate = Candidate(language=front.metadata.kb_language, source=_text(files, script))
            if front.metadata.kb_code_digest != f"sha256:{candidate.digest}":
                raise ValueError(f"kb-code-digest is not the kernel's digest, sha256:{candidate.digest}")
    for path in sorted(path for path in files if path.startswith("evidence/")):
        with _noting(problems, path):
            record = Evidence.model_validate_json(_text(files, path))
            if not path.endswith(f"-{record.id[:12]}.json"):
                raise ValueError(f"altered or renamed: its id begins with {record.id[:12]}")
            evidence.append(record)
    if problems or not (front and candidate):
        raise SkillError(
            f"{folder} is not a skill: {one_line('; '.join(problems), 2000)}",
            hint="correct these problems, or remove the directory",
        )
    return Skill(
        name=front.name,
        description=front.description,
        body=body,
        target=front.metadata.kb_target,
        candidate=candidate,
        suffix=Path(script).suffix,
        evidence=tuple(sorted(evidence, key=lambda e: (e.created, e.id))),
        folder=folder,
    )


def _split(text: str) -> tuple[FrontMatter, str]:
    """Split SKILL.md into front matter and body."""
    parts = _SKILL_MD.fullmatch(text)
    if parts is None:
        raise ValueError("it has no front matter between two `---` lines, or too much")
    if "---" in parts["front"]:
        raise ValueError("its front matter has `---` inside a line, where the specification's reader would end it")
    # BaseLoader reads only text, lists and mappings. With SafeLoader a few lines of merge keys could fill the memory.
    fields = yaml.load(parts["front"], Loader=yaml.BaseLoader)  # noqa: S506
    return FrontMatter.model_validate(fields), parts["body"].removeprefix("\n").removesuffix("\n")


def _text(files: Mapping[str, bytes], path: str) -> str:
    if path not in files:
        raise ValueError("it is missing")
    if len(files[path]) > MAX_FILE_BYTES:
        raise ValueError(f"it has more than {MAX_FILE_BYTES} bytes")
    return files[path].decode()


@contextmanager
def _noting(problems: list[str], path: str) -> Iterator[None]:
    """Note a problem of a file and continue. On hostile text, parsers also raise errors that are not their own."""
    try:
        yield
    except ValidationError as error:
        problems += [f"{path}: {'.'.join(map(str, e['loc']))} {e['msg']}" for e in error.errors()]
    except (ValueError, ArithmeticError, RecursionError, yaml.YAMLError) as error:
        problems.append(f"{path}: {one_line(str(error), 300)}")


def skill_files(skill: Skill) -> dict[str, bytes]:
    """The files of a skill by path, as `parse_skill` reads them."""
    metadata = {
        "kb-schema": "1",
        "kb-target": skill.target,
        "kb-language": skill.candidate.language,
        "kb-code-digest": f"sha256:{skill.candidate.digest}",
    }
    if win := skill.best:
        metadata |= {"kb-task": win.task, "kb-task-digest": f"sha256:{win.task_digest}"}
    fields = {"name": skill.name, "description": skill.description, "metadata": metadata}
    front = yaml.safe_dump(fields, sort_keys=False, width=100)
    texts = {
        "SKILL.md": f"---\n{front}---\n\n{skill.body}\n",
        f"scripts/kernel{skill.suffix}": skill.candidate.source,
    }
    for record in skill.evidence:
        name = f"{slug(f'{record.created[:10]}-{record.target}')}-{record.id[:12]}"
        texts[f"evidence/{name}.json"] = json.dumps(record.model_dump(mode="json"), indent=1, sort_keys=True)
    return {path: text.encode(errors="replace") for path, text in texts.items()}


def one_line(text: str, limit: int) -> str:
    """`text` without line breaks, cut to `limit` characters."""
    return " ".join(text.split())[:limit]
