"""Skills from elsewhere: where they are in a folder or an archive, and kb's entries for those that have none."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from kb.errors import SkillError
from kb.skillbook.files import ATTACHED, MAIN, MAX_FILE_BYTES, one_line, parse_skill, read_files, split_text
from kb.skillbook.select import ANY
from kb.types.kernels import Candidate
from kb.types.skill import Skill

MOST_COMPATIBILITY = 500
_LANGUAGES = {".cu": "cuda", ".cpp": "cpp", ".cc": "cpp", ".py": "torch"}
_KERNEL = re.compile(rb"\b(?:ModelNew|model_new)\b")
_IN_TRITON = {"torch": "triton"}
"""What a language is called if its file holds kernels in Triton."""
_TRITON = re.compile(rb"^\s*(?:import|from) triton\b", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class SkillFolder:
    path: Path
    """The folder to read."""
    place: Path
    """Where the user has it."""
    named: bool
    """Whether the folder must have the skill's name; that of an archive with one skill need not."""


def skill_folders(path: Path, read: Path) -> list[SkillFolder]:
    """The folders of skills in what the user named `path`.

    Args:
        read: The folder to read: `path`, or that of an archive's files.

    Raises:
        SkillError: there is none; the message names a file whose name is nearly right.
    """
    files = [file for file in sorted(read.rglob("*")) if not _is_hidden(file.relative_to(read))]
    found = [file.parent for file in files if file.name == MAIN]
    if not found:
        near = next((file.relative_to(read) for file in files if file.name.lower() == MAIN.lower()), None)
        if near:
            raise SkillError(f"{path / near} is not called {MAIN}", hint=f"rename it to {MAIN}")
        hint = "name the folder of a skill, or one that holds such folders"
        raise SkillError(f"{path} holds no {MAIN}", hint=hint)
    is_archive = path.is_file()
    return [
        SkillFolder(
            one, path / one.relative_to(read), named=not (is_archive and found == [one] and read in (one, one.parent))
        )
        for one in found
    ]


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts)


def load_adopted(folder: Path, *, target: str = ANY, named: bool = True) -> Skill:
    """The skill in a directory from elsewhere; without kb's entries it is a playbook, or a kernel if it holds one.

    Args:
        target: Target of a skill that names none.
        named: Whether the directory must have the skill's name.

    Raises:
        SkillError: it is malformed; the message lists every problem.
    """
    return parse_skill(folder, _adopted(read_files(folder), target), named=named)


def _adopted(files: Mapping[str, bytes], target: str) -> dict[str, bytes]:
    """The files of a skill with kb's entries. What its front matter says for other programs is left out."""
    try:
        fields, body = split_text(files.get(MAIN, b"").decode())
    except (ValueError, RecursionError, yaml.YAMLError):
        return dict(files)  # reading it says why
    given = fields.get("metadata") if isinstance(fields, dict) else None
    if not isinstance(fields, dict) or any(str(name).startswith("kb-") for name in given or ()):
        return dict(files)
    metadata, taken = {"kb-schema": "1", "kb-kind": "playbook", "kb-target": target}, {}
    kernels = [path for path in files if path.startswith("scripts/kernel.")]
    if len(kernels) == 1 and (language := _language(kernels[0], files[kernels[0]])):
        taken = {kernels[0]: files[kernels[0]]}
        digest = Candidate(language=language, source=files[kernels[0]].decode()).digest
        metadata |= {"kb-kind": "kernel", "kb-language": language, "kb-code-digest": f"sha256:{digest}"}
    own = {name: fields[name] for name in ("name", "description", "license", "compatibility") if name in fields}
    if isinstance(own.get("compatibility"), str):
        own["compatibility"] = one_line(own["compatibility"], MOST_COMPATIBILITY)
    front = yaml.safe_dump(own | {"metadata": metadata}, sort_keys=False)
    return taken | {MAIN: f"---\n{front}---\n\n{body}\n".encode()}


def _language(path: str, source: bytes) -> str:
    """The language of a file that kb can judge as a kernel; empty if it is none."""
    try:
        source.decode()
    except UnicodeDecodeError:
        return ""
    language = _LANGUAGES.get(Path(path).suffix, "") if _KERNEL.search(source) else ""
    return _IN_TRITON.get(language, language) if _TRITON.search(source) else language


def attached(folder: Path) -> dict[str, bytes]:
    """The texts beside a skill that an import takes over with it, by their paths."""
    found = {}
    for path in sorted(path for pattern in ATTACHED for path in folder.glob(pattern) if path.is_file()):
        content = path.read_bytes() if path.stat().st_size <= MAX_FILE_BYTES and not path.is_symlink() else b"\xff"
        try:
            content.decode()
        except UnicodeDecodeError:
            continue
        found[path.relative_to(folder).as_posix()] = content
    return found
