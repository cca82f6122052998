"""Markup inside a line of AsciiDoc: emphasis, roles and link targets are dropped, their text and all code kept."""

import html
import re
from collections.abc import Mapping

from ingest.readers.notation import figure

_AS_IN_HTML = "apos quot plus lsquo rsquo ldquo rdquo deg amp lt gt brvbar ge le ne approx times pm bullet prime check"
_CHARACTERS = (
    {name: html.unescape(f"&{name};") for name in _AS_IN_HTML.split()}
    | dict.fromkeys(("empty", "blank", "zwsp", "wj"), "")
    | dict.fromkeys(("sp", "nbsp"), " ")
    | {"startsb": "[", "endsb": "]", "vbar": "|", "caret": "^", "asterisk": "*", "tilde": "~", "backslash": "\\"}
    | {"backtick": "`", "two-colons": "::", "two-semicolons": ";;", "cpp": "C++", "pp": "++", "inf": "\u221e"}
    | {"circ": "\u2218", "endash": "\u2013", "emdash": "\u2014", "interpunct": "\u00b7", "vertical-ellipsis": "\u22ee"}
)
"""Names of characters in AsciiDoc, and names that many manuals define, so that a single chapter can be read."""
_KNOWN = "|".join(sorted(_CHARACTERS, key=len, reverse=True))
_BRACKETED = r"\[(?P<content>(?:\\.|[^\[\]\\]|\[[^\[\]]{0,500}\]){0,4000})\]"
_MATH = {"stem", "latexmath", "asciimath"}
_LINKS = {"link", "mailto", "http", "https", "ftp", "irc"}
_OTHERS = "xref kbd btn menu image video audio icon footnote footnoteref indexterm indexterm2 anchor cite pass"
_OF_MANUALS = "csr insn insnlink ext extlink exlink qty"
_NAMES = "|".join([*_MATH, *_LINKS, *_OTHERS.split(), *_OF_MANUALS.split()])

_TOKEN = re.compile(
    rf"""\\?(?:
      (?P<plain>\+\+\+[^+]{{1,4000}}\+\+\+ | (?<![\w+])\+\+\S[^+]{{0,4000}}(?<!\s)\+\+
        | (?<![\w+])\+(?![\s+])[^+]{{1,1000}}(?<!\s)\+(?![\w+]) | \$\$[^$]{{1,1000}}\$\$)
    | (?P<quote>"`(?!\s)[^`"]{{1,1000}}`")
    | (?P<code>``[^`]+`` | (?<![\w`])`(?!\s)[^`]+(?<!\s)`(?!\w))
    | (?P<macro>\b(?:(?P<name>{_NAMES})
        ::?(?P<target>[^\s\[\]]{{0,500}})|(?P<any>[a-z]\w{{0,30}}:[^\s\[\]:]{{1,500}}(?=\[\]))){_BRACKETED})
    | (?P<address>\b(?:https?|ftp)://[^\s\[\]<>]{{1,2000}})
    | (?P<reference><<[^<>]{{1,500}}>>)
    | (?P<term>\(\([^\s()][^()]{{0,500}}\)\)(?!\)))
    | (?P<index>\(\(\([^()]{{1,500}}\)\)\))
    | (?P<anchor>\[\[\[?[A-Za-z_:][^\[\]]{{0,500}}\]\]\]?)
    | (?P<role>\[(?:[.#][^\[\]]{{0,200}}|[a-z-]{{1,40}})\](?=\#\S)\#{{1,2}} | \[[.#][^\[\]]{{0,200}}\](?=[*_`+]))
    | (?P<character>\{{(?:{_KNOWN})\}} | &(?:\#\d{{1,7}}|\#x[\da-fA-F]{{1,6}}|[A-Za-z]\w{{1,30}});)
    | (?P<script>\^[^\s^]{{1,200}}\^ | ~[^\s~]{{1,200}}~)
    | (?P<mark>\*\*|__|\#\#|[*_\#])
    | (?P<break>(?<=[ \t])\+$)
    )""",
    re.VERBOSE | re.MULTILINE,
)


def inline(text: str, labels: Mapping[str, str]) -> str:
    """Return `text` without markup, on as many lines; `labels` maps anchors to their text."""
    pieces: list[str] = []
    opened: dict[str, list[int]] = {}
    at = 0
    for match in _TOKEN.finditer(text):
        pieces.append(text[at : match.start()])
        at = match.end()
        token = match[0]
        if token.startswith("\\"):
            piece = token[1:]
        elif match.lastgroup == "mark":
            piece = _mark(match, pieces, opened)
        elif match.lastgroup == "role":
            if mark := token[token.rindex("]") + 1 :]:
                opened.setdefault(mark, []).append(len(pieces))
            piece = token if mark else ""
        else:
            piece = _replaced(match, labels)
        # Keep the line ends of dropped text, so that the lines below it keep their numbers.
        pieces.append(piece + "\n" * (token.count("\n") - piece.count("\n")))
    return "".join([*pieces, text[at:]])


def _mark(match: re.Match[str], pieces: list[str], opened: dict[str, list[int]]) -> str:
    """Drop a mark that closes an open one, and the open one too; otherwise return the mark as written."""
    mark, text = match[0], match.string
    before, after = text[max(0, match.start() - 1) : match.start()], text[match.end() : match.end() + 1]
    inside_word = mark not in ("**", "##")
    if opened.get(mark) and before.strip() and not (inside_word and _is_word(after)):
        pieces[opened[mark].pop()] = ""
        return ""
    if after.strip() and not (inside_word and _is_word(before)):
        opened.setdefault(mark, []).append(len(pieces))
    return mark


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"


def _replaced(match: re.Match[str], labels: Mapping[str, str]) -> str:
    token = match[0]
    match match.lastgroup:
        case "address":
            return token
        case "plain":
            return token.strip("$" if token[0] == "$" else "+")
        case "quote":
            return f'"{token[2:-2]}"'
        case "code":
            return f"`{literal(token.strip('`'))}`"
        case "macro":
            return _macro(match, labels)
        case "reference":
            target, _, label = token[2:-2].partition(",")
            return _label(target, label, labels)
        case "term":
            return token[2:-2]
        case "anchor":
            return token[2:-2] if token.startswith("[[[") else ""
        case "character":
            return character(token)
        case "script":
            mark = token[0].replace("~", "_")
            ends_word = not _is_word(match.string[match.end() : match.end() + 1])
            return mark + inline(token[1:-1], labels) + ("" if ends_word else mark)
        case _:
            return ""


def literal(code: str) -> str:
    """Return inline code: only names of characters are replaced, and `+` around the whole code is dropped."""
    code = code[1:-1] if len(code) > 2 and code[0] == code[-1] == "+" else code
    return re.sub(rf"\{{(?:{_KNOWN})\}}|&#?\w{{1,31}};", lambda match: character(match[0]), code)


def character(token: str) -> str:
    return _CHARACTERS[token[1:-1]] if token[0] == "{" else html.unescape(token)


def _macro(match: re.Match[str], labels: Mapping[str, str]) -> str:
    name, target = match["name"], match["target"] or ""
    content = match["content"].replace("\\]", "]")
    if match["any"]:
        return str(match["any"].partition(":")[2])
    if name in _MATH:
        return f"`{content.strip('$')}`" if content else ""
    if name in ("image", "video", "audio"):
        return _figure(target, content)
    if name == "pass":
        return content
    text = inline(content, labels)
    match name:
        case "anchor" | "indexterm" | "icon":
            return ""
        case "indexterm2":
            return text
        case "footnote" | "footnoteref":
            is_apart = match.start() == 0 or match.string[match.start() - 1].isspace()
            return f"{'' if is_apart else ' '}({text})" if text else ""
        case "cite":
            return f"[{text}]"
        case "xref":
            return _label(target, text, labels)
        case _ if name in _LINKS:
            label = re.split(r",\s*\w+=|\^$", text)[0].strip('" ')
            return label or (target if name in ("link", "mailto") else f"{name}:{target}")
        case "csr":
            return ".".join(filter(None, (target, text)))
        case _:
            return " ".join(filter(None, (target, text)))


def _figure(target: str, content: str) -> str:
    named = re.search(r"\balt *= *\"?([^\",]*)", content)
    description = named[1] if named else content.partition(",")[0].strip('" ')
    is_option = not named and "=" in description
    return figure("" if is_option else description, target)


def _label(target: str, label: str, labels: Mapping[str, str]) -> str:
    target = target.strip()
    known = labels.get(target.rpartition("#")[2])
    return inline(label.strip(), labels) if label.strip() else inline(known, {}) if known else target.lstrip("#")
