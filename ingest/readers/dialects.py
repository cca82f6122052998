"""What Doxygen, Liquid and MyST add to Markdown, said in Markdown: line by line, so that all line numbers stay."""

import re
from collections.abc import Callable

_FENCE = re.compile(r"[ \t>]*(?:(?:[-*+]|\d+[.)])[ \t]+)*(`{3,}(?=[^`]*$)|~{3,})(.*)")
_FOREIGN = re.compile(r"[@\\]\w|[@\\]f|\{[%#]|\{\{|^\(|^\+\+\+|^\[\[?_?TOC")
_DELIMITER = re.compile(r"[ \t>]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*")
_CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`)(.*?)(?<!`)\1(?!`)")
_PIPE = re.compile(r"(?<!\\)\|")
_LONGEST_LINE = 10_000
"""Longer ones are data, and these patterns are not made for them."""


def _figure(include: re.Match[str]) -> str:
    return f"![]({include[1]}) {include[2]}".replace('\\"', '"')


_AT = r"(?<![\w@\\])[@\\]"
_REWRITTEN: list[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]]] = [
    (re.compile(pattern), by)
    for pattern, by in (
        # Doxygen
        (r"[@\\]f\$[ \t]*(.*?)[ \t]*[@\\]f\$", r"$\1$"),
        (r"[@\\]f\$", "$"),
        (r"[@\\]f[\[\]]", "$$"),
        (rf"\]\({_AT}(?:ref|subpage)[ \t]+([^\s)]+)\)", r"](\1)"),
        (rf'{_AT}(?:ref|subpage)[ \t]+[\w:.-]+[ \t]+"([^"]*)"', r"\1"),
        (rf"{_AT}(?:ref|subpage|copydoc|copybrief|copydetails)[ \t]+(?=\w)", ""),
        (r"[ \t]*\{#[\w:.-]+\}[ \t]*$", ""),
        (rf"^{_AT}(?:mainpage[ \t]|page[ \t]+[\w-]+)[ \t]*", "# "),
        (rf"^{_AT}section[ \t]+[\w-]+[ \t]+", "## "),
        (rf"^{_AT}(?:sub)+section[ \t]+[\w-]+[ \t]+", "### "),
        (rf"^[ \t]*{_AT}(?:anchor[ \t]+[\w:.-]+|tableofcontents)[ \t]*$", ""),
        (rf"^([ \t]*){_AT}li[ \t]+", r"\1- "),
        (rf"^([ \t]*){_AT}par[ \t]+(\S.*)$", r"\1**\2**"),
        (rf"^([ \t]*){_AT}(note|warning|attention|remark|todo)[ \t]+", r"\1[!\2] "),
        # Liquid
        (r"""\{%-? *include .*?path=["']([^"']*)["'].*?caption="((?:[^"\\]|\\.)*)".*?%\}""", _figure),
        (r"""\{%-? *include .*?path=["']([^"']*)["'].*?%\}""", r"![](\1)"),
        (r"\{%-? *details +(.*?) *-?%\}", r"<details><summary>\1</summary>"),
        (r"\{%-? *enddetails *-?%\}", "</details>"),
        (r"\{%-? +\w.*?%\}", ""),
        (r"\{\{ *(?:site|page|include)\.[^{}]*\}\}", ""),
        # MyST, and tables of contents
        (r"^\([^()\s]+\)=[ \t]*$", ""),
        (r"^\+\+\+( .*)?$", ""),
        (r"^\[(\[_)?TOC(_\])?\][ \t]*$", ""),
    )
]


def common(text: str) -> str:
    """`text` in the Markdown that all know."""
    out: list[str] = []
    fence = ""
    columns = 0
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if len(line) > _LONGEST_LINE:
            pass
        elif fence:
            if mark and mark[1].startswith(fence) and not mark[2].strip():
                fence = ""
        elif mark:
            fence = mark[1]
        else:
            if _FOREIGN.search(line):
                for pattern, by in _REWRITTEN:
                    line = pattern.sub(by, line)
            if "|" not in line:
                columns = 0
            elif not columns and "-" in line and _DELIMITER.fullmatch(line):
                columns = _cells(line)
                if out and _PIPE.search(out[-1]):
                    out[-1] = _fitted(out[-1], columns)
            elif columns:
                line = _fitted(line, columns)
        out.append(line)
    return "\n".join(out)


def _cells(row: str) -> int:
    row = row.strip(" \t>").removeprefix("|")
    return len(_PIPE.findall(row.removesuffix("|") if not row.endswith("\\|") else row)) + 1


def _fitted(row: str, columns: int) -> str:
    """`row` without more cells than `columns`, which Markdown would drop: pipes in code first, then the last ones."""
    if _cells(row) <= columns:
        return row
    row = _CODE_SPAN.sub(lambda span: _PIPE.sub(r"\\|", span[0]), row)
    pipes = [m.start() for m in _PIPE.finditer(row.rstrip().removesuffix("|"))]
    surplus = _cells(row) - columns
    for at in reversed(pipes[len(pipes) - surplus :] if surplus > 0 else []):
        row = f"{row[:at]}\\{row[at:]}"
    return row
