"""Convert between a `Skill` and its files in the open Agent Skills format."""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, TypeVar

import yaml
from pydantic import Field, ValidationError

from kb.errors import SkillError
from kb.storage import slug
from kb.types.base import Frozen
from kb.types.evidence import Evidence
from kb.types.kernels import Candidate, LanguageName
from kb.types.skill import Preconditions, Skill, SkillKind, SkillRecord

MAX_FILE_BYTES, MOST_BODY_TOKENS = 2**22, 900
MAIN = "SKILL.md"
PATTERNS = (MAIN, "scripts/kernel.*", "evidence/*.json", "records/*.json")
"""The files of a skill; others in its directory are left alone."""
ATTACHED = ("references/**/*", "assets/**/*")
"""Files beside it to which its text may refer."""

_Added = TypeVar("_Added", Evidence, SkillRecord)
_SKILL_MD = re.compile(r"---[ \t]*\r?\n(?P<front>.{0,20000}?)^---[ \t]*(?:\r?\n|\Z)(?P<body>.*)", re.M | re.S)


def _hyphens(field: str) -> str:
    return field.replace("_", "-")


class Metadata(Frozen, alias_generator=_hyphens, extra="allow"):
    """kb's entries in `metadata`, the one field that the specification leaves open. Lists are words between spaces."""

    __pydantic_extra__: dict[str, str]
    kb_schema: Literal["1"]
    kb_kind: SkillKind = SkillKind.KERNEL
    kb_target: str = Field(pattern=r"^[a-z0-9][a-z0-9._-]*$")
    kb_language: LanguageName | None = None
    kb_code_digest: str = ""
    kb_ops: str = ""
    kb_dtypes: str = ""
    kb_refusals: str = ""
    kb_citations: str = ""

    @property
    def has_former(self) -> bool:
        """Whether it has entries of another version, which no longer count as content."""
        return any(name.startswith("kb-") for name in self.model_extra or ())


class FrontMatter(Frozen, alias_generator=_hyphens, extra="ignore"):
    """The fields and limits of the Agent Skills specification; others are left alone."""

    name: str = Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=64)
    description: str = Field(pattern=r"\S", max_length=1024)
    license: str = ""
    compatibility: str = Field(default="", max_length=500)
    metadata: Metadata


def load_skill(folder: Path) -> Skill:
    """The skill in a directory, with its evidence and records in order of creation.

    Raises:
        SkillError: it is malformed; the message lists every problem.
    """
    return parse_skill(folder, read_files(folder))


def read_files(folder: Path) -> dict[str, bytes]:
    """The files in a skill's directory by path. Raises SkillError if one cannot be read."""
    files = {}
    try:
        for path in (path for pattern in PATTERNS for path in folder.glob(pattern)):
            if path.is_file():
                with path.open("rb") as file:
                    files[path.relative_to(folder).as_posix()] = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise SkillError(f"{folder} cannot be read: {error}", hint="correct its permissions") from error
    return files


def parse_skill(folder: Path, files: Mapping[str, bytes], *, named: bool = True) -> Skill:
    """The skill made of `files`, which maps paths in `folder` to contents; errors as in `load_skill`.

    Args:
        named: Whether the folder must have the skill's name.
    """
    problems: list[str] = []
    front, candidate = None, None
    with _noting(problems, MAIN):
        text = _text(files, MAIN)
        if "---" in _parts(text)["front"]:
            raise ValueError("its front matter has `---` inside a line, where the specification's reader would end it")
        fields, body = split_text(text)
        front = FrontMatter.model_validate(fields)
        if named and front.name != folder.name:
            raise ValueError(f"name {front.name!r} is not the name of the directory")
    kernels = [path for path in files if path.startswith("scripts/kernel.")]
    script = next(iter(kernels), "scripts/kernel.*")
    if front and (kernels or front.metadata.kb_code_digest or front.metadata.kb_kind is SkillKind.KERNEL):
        with _noting(problems, script):
            if len(kernels) > 1:
                raise ValueError(f"it is not the only kernel: there is also {kernels[1]}")
            candidate = _candidate(front.metadata, _text(files, script))
    evidence = _addressed(Evidence, "evidence", files, problems)
    records = _addressed(SkillRecord, "records", files, problems)
    if problems or not front:
        raise SkillError(
            f"{folder} is not a skill: {one_line('; '.join(problems), 2000)}",
            hint="correct these problems, or remove the directory",
        )
    metadata = front.metadata
    skill = Skill(
        name=front.name,
        kind=metadata.kb_kind,
        description=front.description,
        body=body,
        target=metadata.kb_target,
        language=metadata.kb_language,
        preconditions=Preconditions(ops=tuple(metadata.kb_ops.split()), dtypes=tuple(metadata.kb_dtypes.split())),
        refusals=tuple(metadata.kb_refusals.split()),
        candidate=candidate,
        suffix=Path(script).suffix if candidate else "",
        license=front.license,
        compatibility=front.compatibility,
        citations=tuple(metadata.kb_citations.split()),
        evidence=evidence,
        folder=folder,
    )
    content = skill.content_digest if records else ""
    counting = tuple(r for r in records if r.content_digest == content or metadata.has_former)
    return skill.model_copy(update={"records": counting})


def _candidate(metadata: Metadata, source: str) -> Candidate:
    if metadata.kb_language is None:
        raise ValueError("SKILL.md does not name its kb-language")
    candidate = Candidate(language=metadata.kb_language, source=source)
    if metadata.kb_code_digest != f"sha256:{candidate.digest}":
        mend = f"sed -i 's/kb-code-digest:.*/kb-code-digest: sha256:{candidate.digest}/' {MAIN}"
        raise ValueError(
            f"kb-code-digest is not the kernel's: undo the change to the kernel, or accept it with `{mend}`"
        )
    return candidate


def _addressed(kind: type[_Added], folder: str, files: Mapping[str, bytes], problems: list[str]) -> tuple[_Added, ...]:
    """The records in `folder`, in order of time. A file's name ends with the first digits of its record's id."""
    found = []
    for path in sorted(path for path in files if path.startswith(f"{folder}/") and path.endswith(".json")):
        with _noting(problems, path):
            record = kind.model_validate_json(_text(files, path))
            if not path.endswith(f"-{record.id[:12]}.json"):
                raise ValueError(f"altered or renamed: its id begins with {record.id[:12]}")
            found.append(record)
    return tuple(sorted(found, key=lambda record: (record.created, record.id)))


def front_matter(text: str) -> object:
    """The fields at the top of SKILL.md, as a reader of YAML has them. Raises ValueError or YAMLError."""
    # BaseLoader reads only text, lists and mappings. With SafeLoader a few lines of merge keys could fill the memory.
    return yaml.load(_parts(text)["front"], Loader=yaml.BaseLoader)  # noqa: S506


def _parts(text: str) -> re.Match[str]:
    if parts := _SKILL_MD.fullmatch(text.removeprefix("\ufeff")):
        return parts
    raise ValueError("it has no front matter between two `---` lines, or too much")


def split_text(text: str) -> tuple[object, str]:
    """The fields at the top of SKILL.md, and its body. Errors as in `front_matter`."""
    return front_matter(text), _parts(text)["body"].removeprefix("\n").removesuffix("\n")


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
    texts = {MAIN: f"---\n{_front(skill)}---\n\n{skill.body}\n"}
    if skill.candidate:
        texts[f"scripts/kernel{skill.suffix}"] = skill.candidate.source
    for evidence in skill.evidence:
        texts[_path("evidence", evidence, evidence.target)] = json.dumps(evidence.stated, indent=1, sort_keys=True)
    for record in skill.records:
        texts[_path("records", record, record.verb)] = json.dumps(record.model_dump(mode="json"), indent=1)
    return {path: text.encode(errors="replace") for path, text in texts.items()}


def _front(skill: Skill) -> str:
    """The front matter."""
    needs = skill.preconditions
    metadata = {
        "kb-schema": "1",
        "kb-kind": skill.kind.value,
        "kb-target": skill.target,
        "kb-language": skill.language,
        "kb-code-digest": skill.candidate and f"sha256:{skill.candidate.digest}",
        "kb-ops": " ".join(needs.ops),
        "kb-dtypes": " ".join(needs.dtypes),
        "kb-refusals": " ".join(skill.refusals),
        "kb-citations": " ".join(skill.citations),
    }
    fields = {
        "name": skill.name,
        "description": skill.description,
        "license": skill.license,
        "compatibility": skill.compatibility,
        "metadata": {name: value for name, value in metadata.items() if value},
    }
    return yaml.safe_dump({name: value for name, value in fields.items() if value}, sort_keys=False, width=100)


def _path(folder: str, record: Evidence | SkillRecord, what: str) -> str:
    return f"{folder}/{slug(f'{record.created[:10]}-{what}')}-{record.id[:12]}.json"


def one_line(text: str, limit: int) -> str:
    """`text` without line breaks, cut to `limit` characters."""
    return " ".join(text.split())[:limit]
