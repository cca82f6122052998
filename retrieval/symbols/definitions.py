"""How languages define a name, as patterns over one line of code."""

import re
from functools import cache

_STATEMENTS = "return|else|new|delete|throw|case|goto|await|yield|assert|not|in|and|or|if|elif|while|for|from|import"
_PROTOTYPE = rf"(?!\s*(?:{_STATEMENTS})\b)" + r"[^=(;#\"'%]*?[\w>\])*&]\s*[\s*&](?:\w+::)*NAME\s*\("
_BRACED = (
    r"^\s*(?:\w+\s+)*(?:struct|class|enum(?:\s+class)?|union|namespace|concept|interface|trait)\s+"
    r"(?:\w+::)*NAME\b(?!.*;\s*$)"
)

PATTERNS: dict[str, tuple[str, ...]] = {
    "python": (r"^\s*(?:async\s+)?def\s+NAME\s*\(", r"^\s*class\s+NAME\b", r"^NAME\s*(?::[^=]+)?=(?!=)"),
    "c": (
        r"^\s*#\s*define\s+NAME\b",
        _BRACED,
        r"^\s*typedef\b.*\bNAME\s*(?:\[.*\]\s*)?;",
        r"^\s*\}\s*NAME\s*;",
        r"^\s*using\s+NAME\s*=",
        r"^\s*NAME\s+=\s+[-\w()<|+ ]+,?\s*(?://.*|/\*.*)?$",
        r"^" + _PROTOTYPE,
    ),
    "rust": (
        r"^\s*(?:[\w()\"]+\s+)*fn\s+NAME\b",
        r"^\s*(?:pub\S*\s+)?(?:struct|enum|trait|union|type|const|static|mod|macro_rules!)\s+NAME\b",
    ),
    "others": (
        r"^\s*(?:[\w@]+\s+)*(?:func|function|fn|def|kernel|module|subroutine|proc|macro|task|entity|type|object|trait)\s+NAME\b",
    ),
    "mlir": (r"^\s*(?:func\.|llvm\.|gpu\.|\w+\.)?func\b[^@]*@NAME\b", r"^\s*[#!]NAME\s*="),
    "tablegen": (
        r"^\s*(?:def|defm|class|multiclass)\s+NAME\b",
        r"^\s*def\s+\w+\s*:.*[<,]\s*\"NAME\"",
        r"\bmnemonic\s*=\s*\"NAME\"",
        r"::=.*`?NAME\b",
    ),
    "assembly": (
        r"^NAME:(?=\s|$)",
        r"^\s*\.(?:macro|set|equ|equiv)\s+NAME\b",
        r"^\s*%?(?:macro|define)\s+NAME\b",
        r"^NAME\s+equ\b",
    ),
}
"""For each family of languages, what stands where NAME is defined."""

_LANGUAGES = {
    "python": "py python python3 mojo pycon starlark",
    "c": "c h cc cpp cxx hpp c++ cu cuda cuh hip cl opencl metal objc java cs csharp glsl hlsl ispc",
    "rust": "rs rust zig",
    "mlir": "mlir llvm ll",
    "tablegen": "td tablegen ebnf bnf",
    "others": "go julia jl scala swift kotlin verilog vhdl fortran csl wgsl javascript js typescript ts",
    "assembly": "s asm assembly nasm gas ptx sass amdgcn armasm riscv",
}
_FAMILY = {name: family for family, names in _LANGUAGES.items() for name in names.split()}
_PROSE = ["console", "bash", "sh", "shell", "shell-session", "text", "output", "yaml", "json", "toml", "ini"]

_CONCRETE = re.compile(
    r"[vsxatfrzpwdqykm]\d+|[a-z]{1,2}\[.*|%\S+|\$\S+|#\S+|sp|ra|zero|[xyz]mm\d+|-?\d.*|0x\w+|ttmp\S*|[vVwWxX]\d+\..*"
)
"""Registers and numbers of a program. The operands of a syntax are names: `vd`, `rs1`, `imm`."""

ROLE = re.compile(r":\w+:`([^`<]*)[^`]*`")
"""Sphinx writes operands in a literal block as links."""


def family_of(language: str) -> str:
    """The family of languages whose patterns apply; empty for an unknown language, to which all apply."""
    return _FAMILY.get(language.lower(), "")


def is_output(language: str) -> bool:
    """Whether a block is no code: what a program prints, or a file of settings."""
    return language.lower() in _PROSE


@cache
def _patterns(family: str, name: str) -> tuple[re.Pattern[str], ...]:
    kept = [p for own, patterns in PATTERNS.items() if family in ("", own) for p in patterns]
    return tuple(re.compile(p.replace("NAME", re.escape(name))) for p in kept)


def defines(line: str, name: str, *, family: str) -> bool:
    """Whether a line of code defines `name` in a language of `family`."""
    return any(pattern.search(line) for pattern in _patterns(family, name))


def operands(line: str, name: str) -> list[str] | None:
    """The operands of a line of assembly that begins with the instruction `name`; None for any other line."""
    match = re.match(rf"\s*{re.escape(name)}(?:\s+(.*)|\s*)$", ROLE.sub(r"\1", line))
    if match is None or re.match(r"(?:[=:(+*/|&.-]|\w+\s*=)", match[1] or ""):
        return None
    stated = re.split(r"\s(?:#|//|;|/\*)|;", f" {match[1] or ''}")[0]
    return [part.strip(" ()[]") for part in stated.split(",") if part.strip(" ()[]")]


def are_formal(given: list[str]) -> bool:
    """Whether operands are the names of a syntax and not the registers and numbers of a program."""
    return bool(given) and not any(_CONCRETE.fullmatch(part.split(" ")[0]) for part in given)
