"""Tell captions of tables, and the words that mark a table's second part, from other text."""

import re

CAPTION = re.compile(
    r"(table|figure|fig\.|listing|tabelle|tableau|tabla|tabella|表)\s*[A-Z]?[\d.-]+|続?表\s*\d", re.IGNORECASE
)
_CONTINUED = re.compile(
    r"\b(?:continue[sd]|cont(?:['’]?d\b|\.)|suite|fortsetzung|fortgesetzt|continuaci[oó]n|contin[uú]a|continuação|segue)\b"
    r"|[(（]?(?:续|續|続き|つづき|계속)",
    re.IGNORECASE,
)
TITLE = re.compile(rf"(?:{CAPTION.pattern})\s*[.:|–—-]?\s*(?-i:[^\W\da-z])", re.IGNORECASE)
"""A caption that goes on as a title does: 'Table 3. Registers', not 'Table 3 shows'."""
_LONGEST_MARK = 30
"""Characters beside the mark in a line without a table's number."""


def is_continued(text: str) -> bool:
    """Whether a line above or in a table says that the table began before, or goes on."""
    text = text.strip(" .…·-–—")
    found = _CONTINUED.search(text)
    stands_alone = found and len(text) - len(found[0]) <= _LONGEST_MARK and not text.endswith((",", ";"))
    return bool(stands_alone or (found and CAPTION.match(text)))
