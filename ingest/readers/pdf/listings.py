"""Find code that is set in a proportional font, by its syntax."""

import re
from collections.abc import Sequence

from ingest.readers.pdf.lines import Line, Placed

_LEAST_LINES, _LEAST_SHARE = 2, 0.5
"""A listing has at least so many lines that only code has, and this share of all its lines."""
_STEP, _NEAR = 2.5, 0.1
"""Largest step between its lines, in font sizes; largest difference of its font sizes, as a share."""
_LETTER = 0.6
"""Width of a letter of Courier, in font sizes: the unit of indentation."""
_COMMENT = re.compile(r"(?:^|\s)(?://|#(?!\d)|/\*|--(?=\s)).*$")
_COMMENT_LINE = re.compile(r"//|#|/\*|\*/|--\s")
_PROSE = re.compile(r"(?:\b[^\W\d_]{2,}[,;:]?\s+){3,}[^\W\d_]+(?![\w.(\[])")
"""Four words in a row are no code, except in a string or a comment, or before the end of a loop's first line."""
_LOOP = re.compile(r"(?:async\s+)?for\s+[\w, ]+\s+in\s(?=.*:$)|import\s|from\s+\S+\s+import\s")
_ITEM = re.compile(r"[•◦▪●·–—➢]|\(?(?:\d{1,2}|[a-z])[.)]\s")
_STRING = re.compile(r"\"[^\"]*\"|'[^']*'")
_NAME = r"[A-Za-z_$@][\w$]*(?:(?:\.|->|::)\w+|\[[^\]]*\])*"
_CODE = re.compile(
    rf"""
    [{{}}()\[\]]+[;,)]*$                                            # brackets alone
    | .*\{{$                                                        # start of a block
    | (?:.*[\W\d_].*\S|(?:\w+\s+)?\w+);$                             # end of a statement
    | \#\s*(?:include|define|undef|pragma|if|ifdef|ifndef|else|elif|endif)\b
    | (?:{_NAME}\s+)?[*&]?{_NAME}(?:\s*,\s*{_NAME})*\s*(?::\s*{_NAME}\s*)?[-+*/%&|^]?=(?!=)\s*\S  # assignment
    | (?:await\s+)?{_NAME}(?:<[^>]*>)?\(.*\)?[,;]?$                # call
    | (?:def|class|if|elif|for|while|with|except|case|match|async\s+def|fn|func)\b.*:$
    | (?:else|try|finally)\s*:$
    | (?:import|from)\s+[\w.]+(?:\s+(?:import|as)\s.*)?$
    | (?:return|raise|yield|assert|del|break|continue|pass|end|endif|done|fi)\b(?:\s+\S+){{0,4}};?$
    | @[\w.]+(?:\(.*\))?$                                           # decorator
    | \.?\w+:$                                                      # label
    | [a-z][\w.]{{1,15}}\s+[%$@]?[\w\[(-][\w().+*%\[\]-]*(?:\s*,\s*[\w%$@\[(-][\w().+*%\[\]-]*)+$  # instruction
    | (?:\$|>>>|\.\.\.)\s+\S                                        # console
    | "[\w-]+"\s*:\s*\S                                             # JSON
    | (?:module|endmodule|always|assign|wire|reg|input|output)\b.*[;)(,]?$
    """,
    re.VERBOSE,
)


def mark_listings(parts: Sequence[Placed]) -> None:
    """Give the lines of listings a monospaced font, so that each stays a line."""
    run: list[Line] = []
    for part in [*parts, None]:
        if isinstance(part, Line) and not part.font.mono and _may_be_code(part.text) and _follows(run, part):
            run.append(part)
            continue
        _mark(run)
        run = [part] if isinstance(part, Line) and not part.font.mono and _may_be_code(part.text) else []


def is_listing(texts: Sequence[str]) -> bool:
    """Whether lines are code: most of them have its syntax, and some is more than a comment."""
    code = [text for text in texts if _is_code(text)]
    return len(code) >= max(_LEAST_LINES, _LEAST_SHARE * len(texts))


def _mark(run: list[Line]) -> None:
    sure = [i for i, line in enumerate(run) if _is_code(line.text) or _COMMENT_LINE.match(line.text)]
    if not sure:
        return
    # A line that may be code belongs to a listing only between lines that are, and a single word also below them.
    last = sure[-1] + 1
    listing = run[sure[0] : last + (last < len(run) and run[last].text.isidentifier())]
    if is_listing([line.text for line in listing if not _COMMENT_LINE.match(line.text)]):
        for line in listing:
            line.font = line.font._replace(mono=True)
            line.pitch = _LETTER * line.font.size


def _follows(run: Sequence[Line], line: Line) -> bool:
    if not run:
        return True
    size = run[-1].font.size
    return 0 < line.y - run[-1].y <= _STEP * size and abs(line.font.size - size) <= _NEAR * size


def _may_be_code(text: str) -> bool:
    if _COMMENT_LINE.match(text):
        return True
    bare = _LOOP.sub("", _STRING.sub('""', _COMMENT.sub("", text)), count=1)
    return not _ITEM.match(text) and not _PROSE.search(bare)


def _is_code(text: str) -> bool:
    bare = _COMMENT.sub("", text).rstrip()
    return bool(bare) and _may_be_code(text) and bool(_CODE.match(bare))
