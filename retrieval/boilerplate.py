"""Leave out what says nothing about the chip: licence headers, copyright notices, includes that were not found."""

import re
from itertools import groupby

_COMMENT = re.compile(r"\s*(?:#(?!\s*(?:include|define|if|el|end|pragma)\b)|//|/\*|\*|;|--|<!--)")
_NOTICE = re.compile(
    r"SPDX-|copyright \(c\)|copyright ©|©\s*\d{4}|all rights reserved|licensed under the|permission is hereby granted"
    r"|redistribution and use in source|without warrant(?:y|ies) (?:of|or conditions)",
    re.IGNORECASE,
)
_INCLUDE = re.compile(r"^[^\S\n]*(?:\{\{\s*#\w+[^\n]*\}\}|-+8<-+[^\n]*)\n?", re.MULTILINE)
"""A line that stands for a file which was not read: `{{#include ../a.rs}}`."""
_EMPTY = re.compile(r"^```.*\n+```\n?", re.MULTILINE)


def without_notices(text: str) -> str:
    """`text` without the comments and paragraphs that hold a licence or a copyright notice; perhaps nothing is left."""
    if _INCLUDE.search(text):
        text = re.sub(r"\n{3,}", "\n\n", _EMPTY.sub("", _INCLUDE.sub("", text))).strip("\n")
    runs = [(kind, "\n".join(lines)) for kind, lines in groupby(text.split("\n"), _kind_of_line)]
    kept = [lines for kind, lines in runs if kind not in ("comment", "text") or not _NOTICE.search(lines)]
    return text if len(kept) == len(runs) else re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip("\n")


def _kind_of_line(line: str) -> str:
    if not line.strip():
        return "blank"
    if line.startswith(("```", "|")):
        return "markup"
    return "comment" if _COMMENT.match(line) else "text"
