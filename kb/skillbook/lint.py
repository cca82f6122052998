"""Check the files of a skill: form, size, secrets, hidden characters, phrases that steer agents, licence, links."""

import json
import re
import unicodedata
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Literal

import yaml

from kb.errors import SkillError
from kb.skillbook.files import ATTACHED, MAIN, MAX_FILE_BYTES, MOST_BODY_TOKENS, PATTERNS, front_matter
from kb.skillbook.foreign import load_adopted
from kb.types.base import Frozen, tokens_of

MOST_REPEATED = 300
MOST_FINDINGS = 20
"""Most findings of one rule in one file."""
_LICENCE = re.compile(r"[A-Za-z0-9.+-]+(?: (?:AND|OR|WITH) [A-Za-z0-9.+-]+)*")
"""An SPDX expression without brackets."""
_CODE_LICENCE = re.compile(r"SPDX-License-Identifier: *([^\s*]+)")
_SECRETS = {
    "a private key": r"-----BEGIN [A-Z ]*PRIVATE KEY",
    "a key of AWS": r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
    "a token of GitHub": r"\b(?:gh[pousr]_[A-Za-z0-9]{36}|github_pat_\w{22,})",
    "a token of Slack": r"\bxox[abprs]-[A-Za-z0-9-]{10,}",
    "a key of a model's API": r"\bsk-[A-Za-z0-9_-]{20,}",
    "a token of Hugging Face": r"\bhf_[A-Za-z0-9]{30,}",
    "a web token": r"\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}",
    "a password": r"(?i)\b(?:api_?key|secret|token|passw(?:or)?d)\b[\"']?\s*[:=]\s*[\"'][^\"'\s]{8,}[\"']",
    "a password in a link": r"\bhttps?://[^\s/:@]+:[^\s/@]+@",
}
"""Credentials in the forms in which their issuers print them."""
_STEERING = {
    "sets instructions aside": r"\b(?:ignor|disregard|forget|overrid)\w*\s+(?:\w+\s+){0,4}"
    r"(?:instructions?|rules|prompts?|guidelines)\b",
    "gives the reader another role": r"you\s+are\s+now\b|pretend\s+(?:to\s+be|that\s+you)|"
    r"(?:system|developer)\s+prompt",
    "imitates the marks of a conversation": r"</?(?:system|assistant|user|human|instructions?|tool_result)>|"
    r"\[/?INST\]|<\|\w+\|>",
    "asks to keep something from people": r"(?:do\s+not|don't|never)\s+(?:tell|inform|show|mention|reveal)\s+"
    r"(?:\w+\s+){0,5}(?:users?|humans?|persons?|people|curators?|reviewers?)\b",
    "asks for credentials": r"\b(?:read|print|cat|open|collect|reveal|send|post|upload|forward)\s+(?:\S+\s+){0,5}"
    r"(?:api[\s_-]?keys?|passwords?|credentials|tokens?\s+to|\S*\.ssh\b|\S*\.env\b|id_rsa)",
    "runs what it downloads": r"\b(?:curl|wget)\b[^\n|]*\|\s*(?:sudo\s+)?\w*sh\b|\bbase64\s+(?:-d|--decode)\b",
    "decides in a curator's place": r"\bkb\s+skills\s+(?:accept|reject|retire)\b",
    "avoids the judge": r"\b(?:skip|disable|bypass|evade|turn\s+off|switch\s+off)\w*\s+(?:\w+\s+){0,2}"
    r"(?:judge|sandbox|verification|curator)\b",
    "is not shown where Markdown is rendered": r"<!--(?!\s*kb:)",
}
"""What a text says that is meant for agents more than for authors of kernels."""


class Finding(Frozen):
    rule: Literal["form", "size", "secret", "hidden", "steering", "licence", "link"]
    severity: Literal["error", "warning"]
    """A skill with an error is not accepted unless the curator insists."""
    place: str
    """File and line."""
    message: str

    def __str__(self) -> str:
        return f"{self.severity}: {self.place}: {self.message}"


def lint(folder: Path, *, named: bool = True) -> list[Finding]:
    """What is wrong with the skill in a directory, errors first; empty if nothing is.

    Args:
        named: Whether the directory must have the skill's name.
    """
    found = [*_form(folder, named=named)]
    own, others = {path for pattern in PATTERNS for path in folder.glob(pattern)}, []
    beside = {path for pattern in ATTACHED for path in folder.glob(pattern)}
    for path in sorted(p for p in folder.rglob("*") if p.is_symlink() or not p.is_dir()):
        name = path.relative_to(folder).as_posix()
        others += [name] if path not in own | beside else []
        if path.is_symlink() or not path.is_file():
            found.append(_error("form", name, "it is a link or a special file, not a file"))
        elif path.stat().st_size > MAX_FILE_BYTES:
            found.append(_unusable(name, f"it has more than {MAX_FILE_BYTES:,} bytes", is_own=path in own))
        else:
            try:
                found += _text_findings(folder, name, path.read_bytes().decode("utf-8-sig"))
            except UnicodeDecodeError:
                found.append(_unusable(name, "it is not text in UTF-8", is_own=path in own))
    if others:
        more = f" and {len(others) - 1} more files" if others[1:] else ""
        found.append(_warning("form", others[0], f"kb neither reads this file{more} nor takes it over in an import"))
    return sorted(found, key=lambda finding: finding.severity)


def sound(text: str) -> str:
    """The text; empty if it is unfit for a skill: it has secrets, hidden characters or phrases that steer agents."""
    return "" if any(finding.severity == "error" for finding in _said(MAIN, text)) else text


def _unusable(name: str, why: str, *, is_own: bool) -> Finding:
    return _error("form", name, why) if is_own else _warning("form", name, f"{why}, so an import leaves it out")


def _form(folder: Path, *, named: bool) -> Iterator[Finding]:
    try:
        skill = load_adopted(folder, named=named)
    except SkillError as error:
        yield _error("form", MAIN, error.message.removeprefix(f"{folder} is not a skill: "))
        return
    if (tokens := tokens_of(skill.body)) > MOST_BODY_TOKENS:
        yield _error("size", MAIN, f"its text has {tokens} tokens; shorten it to {MOST_BODY_TOKENS}")
    if link := re.search(r"https?://\S{1,80}", skill.body):
        yield _warning("link", MAIN, f"it leads out of the skill, to what may change: {link[0]}")
    if not skill.license:
        yield _warning("licence", MAIN, "it states no licence, so nobody else may use it")
    elif not _LICENCE.fullmatch(skill.license):
        yield _warning("licence", MAIN, f"{skill.license!r} is not the name of a licence at spdx.org/licenses")
    stated = _CODE_LICENCE.search(skill.candidate.source) if skill.candidate else None
    if stated and stated[1] not in skill.license.split():
        said = skill.license or "none"
        yield _error("licence", MAIN, f"its kernel is under {stated[1]}, the skill states {said}")


def _text_findings(folder: Path, name: str, text: str) -> Iterator[Finding]:
    """What stands in the text of one file, as it is written and as readers of YAML and JSON understand it."""
    written = [*_said(name, text)]
    known = {(finding.rule, finding.message) for finding in written}
    understood = _said(f"{name}, as it is read", _understood(name, text))
    yield from (*written, *(finding for finding in understood if (finding.rule, finding.message) not in known))


def _found(pattern: str, text: str, flags: int = 0) -> Iterator[re.Match[str]]:
    """The places of a pattern. Its repetitions end after some hundred characters, so that no text makes it slow."""
    ends = {"+": f"{{1,{MOST_REPEATED}}}", "*": f"{{0,{MOST_REPEATED}}}", ",}": f",{MOST_REPEATED}}}"}
    yield from re.finditer(re.sub(r"(?<!\\)(?:[+*]|,})", lambda end: ends[end[0]], pattern), text, flags)


def _said(place: str, text: str) -> Iterator[Finding]:
    for what, pattern in _SECRETS.items():  # a secret is not repeated whole
        for match in islice(_found(pattern, text), MOST_FINDINGS):
            yield _error("secret", _place(place, text, match.start()), f"it looks like {what}: {match[0][:6]}...")
    for what, pattern in _STEERING.items():
        for match in islice(_found(pattern, text, re.I), MOST_FINDINGS):
            said = " ".join(match[0].split())[:60]
            yield _error("steering", _place(place, text, match.start()), f"it {what}: {said!r}")
    for at, character in islice(((i, c) for i, c in enumerate(text) if _is_hidden(c)), MOST_FINDINGS):
        called = unicodedata.name(character, "a control character")
        yield _error("hidden", _place(place, text, at), f"U+{ord(character):04X} cannot be seen: {called}")


def _understood(name: str, text: str) -> str:
    """The texts of a file in which escapes may hide characters: of JSON, and of the front matter of SKILL.md."""
    try:
        if name.endswith(".json"):
            return "\n".join(_texts(json.loads(text)))
        return "\n".join(_texts(front_matter(text))) if name == MAIN else ""
    except (ValueError, RecursionError, yaml.YAMLError):  # the form is at fault
        return ""


def _texts(value: object) -> Iterator[str]:
    """A pair of a name and a text as one line, so that patterns find what belongs together."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from [f'{key}: "{inner}"'] if isinstance(inner, str) else (str(key), *_texts(inner))
    elif isinstance(value, list):
        for inner in value:
            yield from _texts(inner)
    elif isinstance(value, str):
        yield value


def _is_hidden(character: str) -> bool:
    """Whether it shows nothing or changes the order of others: format, control, private use, variation selector."""
    if character in "\n\t\r" or " " <= character <= "~":
        return False
    selector = "\ufe00" <= character <= "\ufe0f" or "\U000e0100" <= character <= "\U000e01ef"
    return selector or unicodedata.category(character) in ("Cf", "Cc", "Co", "Cn", "Cs")


def _place(name: str, text: str, at: int) -> str:
    return f"{name}:{text.count(chr(10), 0, at) + 1}"


def _error(rule: str, place: str, message: str) -> Finding:
    return Finding.model_validate({"rule": rule, "severity": "error", "place": place, "message": message})


def _warning(rule: str, place: str, message: str) -> Finding:
    return Finding.model_validate({"rule": rule, "severity": "warning", "place": place, "message": message})
