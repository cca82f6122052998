"""Includes of mdBook, MkDocs and Hugo in Markdown."""

import re
from collections.abc import Sequence

from ingest.readers.includes import MYST, Directive

_FILE = r"(?P<file>[^\s:\"'!{}]+)"
_PART = r"(?::(?P<first>\d*)(?::(?P<last>\d*))?(?=[\s\"'}])|:(?P<anchor>[\w.-]+))?"
_MDBOOK = rf"\{{\{{\s*#(?P<name>include|rustdoc_include|playground)\s+{_FILE}{_PART}[^}}]*\}}\}}"
_SNIPPET = rf"-+8<-+\s+(?P<quote>[\"']){_FILE}{_PART}(?P=quote)"
_EXCLAMATION = rf"\{{!>?\s*{_FILE}(?:!lines=(?P<lines>[\d \t-]+))?\s*!\}}"
_NO_LAYOUT = r"(?!\S+\.(?:html|liquid)\b)"
_VALUES = r"(?P<options>(?:\s+\w+=(?:\"[^\"]*\"|'[^']*'))*)"
_JINJA = rf"\{{%-?\s*include(?:_relative|-markdown)?\s+{_NO_LAYOUT}[\"']?{_FILE}[\"']?{_VALUES}\s*-?%\}}"
_HUGO = rf"\{{\{{[%<]\s*(?:include|readfile|readFile)\s+(?:file=|path=)?[\"']?{_FILE}[\"']?\s*[%>]\}}\}}"
_FORMS = (_MDBOOK, _SNIPPET, _EXCLAMATION, _JINJA, _HUGO)
_INCLUDES = [re.compile(rf"(?P<lead>[ \t]*){form}[ \t]*") for form in _FORMS]
_MARK = re.compile(r"#include|#rustdoc|#playground|8<|\{!|\{%|\{<")
_OPTION = re.compile(r"(\w+)=(?:\"([^\"]*)\"|'([^']*)')")
_SNIPPET_BLOCK = re.compile(r"^([ \t]*)(-+8<-+)[ \t]*\n(.*?)^[ \t]*\2[ \t]*$", re.MULTILINE | re.DOTALL)
_SNIPPET_LINE = re.compile(r"^[ \t]*([^;\s].*?)[ \t]*$", re.MULTILINE)
_OPTIONS = {"start": "start-after", "end": "end-before"}


def find(lines: Sequence[str], at: int) -> Directive | None:
    """Return the include of MyST, mdBook or MkDocs that begins with `lines[at]`."""
    if not _MARK.search(lines[at]):
        return MYST.find(lines, at)
    found = next(filter(None, (form.fullmatch(lines[at]) for form in _INCLUDES)), None)
    if found is None:
        return None
    parts = {name: value for name, value in found.groupdict().items() if value is not None}
    given = _OPTION.findall(parts.get("options", ""))
    if any(name not in _OPTIONS for name, *_ in given):
        return None  # parameters of a template
    options = {_OPTIONS[name]: double or single for name, double, single in given}
    if "first" in parts:
        first, last = parts["first"], parts.get("last")
        options["lines"] = first if last is None else f"{first}-{last}"
    if "lines" in parts:
        options["lines"] = ",".join(parts["lines"].split())
    if "anchor" in parts:
        options["anchor"] = parts["anchor"]
    name = "literalinclude" if parts.get("name") == "playground" else "include"
    return Directive(parts["lead"], name, parts["file"], options, at + 1, shown=lines[at])


def prepare(text: str) -> str:
    """Rewrite each block of snippets, with the name of a file on each line, as snippets on lines of their own."""
    return _SNIPPET_BLOCK.sub(
        lambda block: (
            "\n" + _SNIPPET_LINE.sub(rf'{block[1]}{block[2]} "\1"', block[3]) if block[3].strip() else block[0]
        ),
        text,
    )


MARKDOWN = MYST._replace(find=find, prepare=prepare)
