"""Leave out what says nothing about the chip: licence headers and copyright notices."""

import re
from itertools import groupby

_COMMENT = re.compile(r"\s*(?:#(?!\s*(?:include|define|if|el|end|pragma)\b)|//|/\*|\*|;|--|<!--)")
_NOTICE = re.compile(
    r"SPDX-|copyright \(c\)|copyright ©|©\s*\d{4}|all rights reserved|licensed under the|permission is hereby granted"
    r"|redistribution and use in source|without warrant(?:y|ies) (?:of|or conditions)",
    re.IGNORECASE,
)


def without_notices(text: str) -> str:
    """`text` without the comments and paragraphs that hold a licence or a copyright notice.

    A text that is nothing else stays as it is.
    """
    runs = [(kind, "\n".join(lines)) for kind, lines in groupby(text.split("\n"), _kind_of_line)]
    kept = "\n".join(run for kind, run in runs if kind == "blank" or not _NOTICE.search(run))
    return re.sub(r"\n{3,}", "\n\n", kept).strip("\n") if kept.strip() else text


def _kind_of_line(line: str) -> str:
    if not line.strip():
        return "blank"
    if line.startswith(("```", "|")):
        return "mark"
    return "comment" if _COMMENT.match(line) else "text"
