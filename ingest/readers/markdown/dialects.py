"""Additions of Doxygen, Liquid and MyST to Markdown: a parser with plugins; the rest is rewritten as plain Markdown."""

import re
from collections.abc import Callable

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline, backtick
from mdit_py_plugins.colon_fence import colon_fence_plugin
from mdit_py_plugins.deflist import deflist_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.footnote import footnote_plugin
from mdit_py_plugins.front_matter import front_matter_plugin

_FENCE = re.compile(r"[ \t>]*(?:(?:[-*+]|\d+[.)])[ \t]+)*(`{3,}(?=[^`]*$)|~{3,})(.*)")
_FOREIGN = re.compile(r"[@\\]\w|\{[%#]|\{\{|^\(|^\+\+\+|^\[\[?_?TOC")
_DELIMITER = re.compile(r"[ \t>]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*")
_CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`)(.*?)(?<!`)\1(?!`)")
_PIPE = re.compile(r"(?<!\\)\|")
DEEPEST = 100
"""Depth of nested blocks at which the parser drops text."""
_LONGEST_LINE = 10_000
"""Longer lines are data, and these patterns are too slow for them."""
_MOST_LINKS = 500
"""Most brackets in such a line; the parser takes quadratic time for brackets that it cannot pair."""


def _figure(include: re.Match[str]) -> str:
    return f"![]({include[1]}) {include[2]}".replace('\\"', '"')


_BOX = "(?:admonition|alert|callout|cards?|caution|details|expand|hint|info|note|notice|tabs?|tabpane|tip|warning)"
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
        (r"(?<!\{)\{%-? +\w.*?%\}(?!\})", ""),
        (r"\{\{ *(?:site|page|include)\.[^{}]*\}\}", ""),
        # Hugo
        (rf'\{{\{{[%<]\s*{_BOX}\b[^{{}}]*?(?:title|label|name)="([^"]*)"[^{{}}]*[%>]\}}\}}', r"**\1**"),
        (rf"\{{\{{[%<]\s*/?\s*{_BOX}\b[^{{}}]*[%>]\}}\}}", ""),
        # MyST, and tables of contents
        (r"^\([^()\s]+\)=[ \t]*$", ""),
        (r"^\+\+\+( .*)?$", ""),
        (r"^\[(\[_)?TOC(_\])?\][ \t]*$", ""),
    )
]


markdown = (
    MarkdownIt("commonmark", {"maxNesting": DEEPEST})
    .enable(["table", "strikethrough"])
    .use(front_matter_plugin)
    .use(colon_fence_plugin)
    .use(deflist_plugin)
    .use(footnote_plugin)
    .use(dollarmath_plugin, allow_space=False, allow_digits=False, double_inline=True)
    # Footnotes stay where they are written.
    .disable(["footnote_tail", "footnote_inline"])
)


def _code_span(state: StateInline, silent: bool) -> bool:  # noqa: FBT001
    """Apply Markdown's own rule, and record the line ends inside the code span, which that rule forgets."""
    start, before = state.pos, len(state.tokens)
    found = backtick(state, silent)
    if not silent and len(state.tokens) > before and state.tokens[-1].type == "code_inline":
        state.tokens[-1].meta["line_ends"] = state.src.count("\n", start, state.pos)
    return found


markdown.inline.ruler.at("backticks", _code_span)


def common(text: str) -> str:
    """Rewrite `text`, line by line, as Markdown that `markdown` can parse."""
    out: list[str] = []
    fence = ""
    columns = 0
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence) and not mark[2].strip():
                fence = ""
        elif mark:
            fence = mark[1]
        elif len(line) > _LONGEST_LINE:
            line = line.replace("[", "\\[") if line.count("[") > _MOST_LINKS else line
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
    """Escape surplus pipes, in code first and then at the end, since Markdown drops cells beyond `columns`."""
    if _cells(row) <= columns:
        return row
    row = _CODE_SPAN.sub(lambda span: _PIPE.sub(r"\\|", span[0]), row)
    pipes = [m.start() for m in _PIPE.finditer(row.rstrip().removesuffix("|"))]
    surplus = _cells(row) - columns
    for at in reversed(pipes[len(pipes) - surplus :] if surplus > 0 else []):
        row = f"{row[:at]}\\{row[at:]}"
    return row
