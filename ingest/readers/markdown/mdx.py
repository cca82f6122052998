"""MDX, Markdown with components, rewritten line by line as Markdown. Docusaurus also writes it in files called `.md`.

Modules (`import`, `export`) and the tags of components go; what stands between tags is Markdown. A title of a component
stays, a constant gets its value, and a component that is another Markdown file becomes an include.
"""

import re

from ingest.readers.markdown.includes import MARKDOWN

_IMPORT = r"import\s+(?:(?:[\w*]+\s*,?\s*)?(?:\{[^{}]*\}|\*\s+as\s+\w+)?\s*from\s*)?[\"'][^\"'\n]+[\"']"
_EXPORT = r"export\s+(?:const|let|var|function|default|class|async|\{|\*)"
_NAME = r"(?P<name>[A-Z][\w.]*|div|section|span|center|main|article)"
"""Of HTML, the tags that would keep Markdown's own parser from the text between them."""
_PART = re.compile(
    r"(?P<code>^[ \t>]*(?P<mark>```+|~~~+)[^\n]*\n(?:.*\n)*?[ \t>]*(?P=mark)[`~]*[ \t]*$"
    r"|(?P<ticks>(?<!`)`+)(?!`).*?(?P=ticks)(?!`))"
    rf"|(?P<module>^(?:{_IMPORT}|{_EXPORT}))"
    r"|(?P<comment>\{\s*/\*(?:.|\n)*?\*/\s*\})"
    rf"|(?P<tag><(?P<closes>/?)(?:{_NAME}(?=[\s/>])|(?=>)))"
    r"|\{\s*(?P<constant>[A-Za-z_]\w*)\s*\}",
    re.MULTILINE,
)
_TITLE = re.compile(r"\s(?:title|label|summary|heading|header|caption)=\{?(?:\"([^\"]*)\"|'([^']*)')\}?")
_IN_TAG = re.compile(r"[{}>]|\"[^\"]*\"|'[^'\n]*'|`[^`]*`")
_INCLUDED = re.compile(r"import\s+(\w+)\s+from\s+[\"'](?:@site)?([^\"']+\.mdx?)[\"']")
_CONSTANT = re.compile(r"export\s+const\s+(\w+)\s*=\s*(?:\"([^\"\n]*)\"|'([^'\n]*)'|(-?\d[\d._]*))\s*;?\s*\Z")
_STRING = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'|`[^`]*`")
_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(?:.*\n)*?---[ \t]*$", re.MULTILINE)
_USES_MODULES = re.compile(rf"^{_IMPORT};?[ \t]*$", re.MULTILINE)
_FENCE = re.compile(r"^[ \t>]*(?:```|~~~)", re.MULTILINE)
_OPENS, _ENDS = "\x01", "\x02"
"""Where a tag stood: lines between both may be indented."""


def is_mdx(text: str) -> bool:
    """Whether a text imports modules outside of its listings."""
    found = _USES_MODULES.search(text)
    return found is not None and len(_FENCE.findall(text, 0, found.start())) % 2 == 0


def _prepare(text: str) -> str:
    head = _FRONT_MATTER.match(text)
    at = head.end() if head else 0
    out = [text[:at]]
    included: dict[str, str] = {}
    constants: dict[str, str] = {}
    while part := _PART.search(text, at):
        out.append(text[at : part.start()])
        at = part.end()
        if part["module"]:
            at = _module_end(text, at)
            module = text[part.start() : at]
            included.update(_INCLUDED.findall(module))
            constants.update((found[1], found[found.lastindex or 1]) for found in [_CONSTANT.match(module)] if found)
            out.append("\n" * module.count("\n"))
        elif part["tag"] and (end := _tag_end(text, at)):
            at = end
            out.append(_shown(text[part.start() : at], part, included))
        elif part["constant"]:
            out.append(constants.get(part["constant"], part[0]))
        else:
            out.append("\n" * part[0].count("\n") if part["comment"] else part[0])
    return _outdented("".join([*out, text[at:]]))


def _module_end(text: str, at: int) -> int:
    """The end of a module's code: the end of its line, or of a later one if brackets are open or code follows."""
    begin = text.rfind("\n", 0, at) + 1
    while at < len(text):
        end = text.find("\n", at)
        at = len(text) if end < 0 else end
        code = _STRING.sub("", text[begin:at])
        is_open = sum(map(code.count, "{[(")) > sum(map(code.count, "}])"))
        following = text[at + 1 : at + 8].lstrip(" \t")
        if not is_open and (not following.strip() or following.startswith(("\n", "import ", "export "))):
            return at
        at += 1
    return len(text)


def _tag_end(text: str, at: int) -> int:
    """The end of a tag; 0 if there is none. Attributes may hold code."""
    depth = 0
    for sign in _IN_TAG.finditer(text, at):
        depth += {"{": 1, "}": -1}.get(sign[0], 0)
        if sign[0] == ">" and depth <= 0:
            return sign.end()
    return 0


def _shown(tag: str, begin: re.Match[str], included: dict[str, str]) -> str:
    """What stays of a tag: its line ends, a title, the file that it stands for."""
    title = _TITLE.search(tag)
    said = f"**{title[1] or title[2]}**" if title and (title[1] or title[2]) else ""
    mark = _ENDS if begin["closes"] else "" if tag.endswith("/>") else _OPENS
    said = f"{{!{included[begin['name']]}!}}" if begin["name"] in included else said
    return said + mark + "\n" * tag.count("\n")


def _outdented(text: str) -> str:
    """The text without marks of tags, and without the indentation between them, which would mean code."""
    lines, indents, opened = [], [0], 0
    for line in text.split("\n"):
        change = line.count(_OPENS) - line.count(_ENDS)
        line = line.replace(_OPENS, "").replace(_ENDS, "")
        indent = len(line) - len(line.lstrip(" \t"))
        if opened and line.strip():
            indents += [indent] * opened
            opened = 0
        lines.append(line[min(indent, indents[-1]) :] if line.strip() else "")
        opened += max(0, change)
        for _ in range(-change):
            opened, indents = (opened - 1, indents) if opened else (0, indents[:-1] or [0])
    return "\n".join(lines)


MDX = MARKDOWN._replace(prepare=lambda text: MARKDOWN.prepare(_prepare(text)))
