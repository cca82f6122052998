"""Decode text in any encoding: UTF-8, else what the file declares, else what its characters speak for.

Detectors of encodings were tried on short manuals (charset-normalizer 3.5): of 17 they read 6 wrong, among them English
ones with a few signs such as `°` and short Chinese, Japanese and Russian ones. Whole characters are a better sign.
"""

import codecs
import re
from contextlib import suppress

BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    **dict.fromkeys((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE), "utf-32"),
    **dict.fromkeys((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE), "utf-16"),
}
"""The encoding that the first bytes of a text say it has. UTF-32's marks begin with those of UTF-16."""
_DECLARED_WITHIN = 4096
_DECLARATIONS = [
    re.compile(pattern, re.IGNORECASE | re.MULTILINE)
    for pattern in (
        rb"\A\s*<\?xml[^>]*?\sencoding\s*=\s*[\"']([\w.:-]+)",
        rb"<meta\s[^>]*?charset\s*=\s*[\"']?\s*([\w.:-]+)",
        rb"\A(?:.*\n)?.*?coding[:=][ \t]*([\w.-]+)",
        rb"^:encoding:[ \t]*([\w.-]+)",
    )
]
"""XML, HTML, the comment in the first two lines that editors and Python read, AsciiDoc."""
_COMMENT = re.compile(rb"<!--.*?-->", re.DOTALL)
_ENCODING = re.compile(r"(?:gb|big5|cp|shift_jis|euc|iso8859|iso2022_jp|koi8|mac|tis|hz)[\w-]*")
_LARGER = {
    **dict.fromkeys(("gb2312", "gbk"), "gb18030"),
    **dict.fromkeys(("ascii", "iso8859-1"), "cp1252"),
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "big5": "big5hkscs",
}
"""What browsers take for a declared encoding: https://encoding.spec.whatwg.org/#names-and-labels."""
_COMMON = {
    "cp949": rb"[\xa1-\xa3\xb0-\xc8][\xa1-\xfe]",
    "gb18030": rb"[\xa1-\xa3\xb0-\xd7][\xa1-\xfe]",
    "cp932": rb"[\x81-\x84\x88-\x98].",
    "euc_jp": rb"[\xa1-\xa5\xb0-\xcf][\xa1-\xfe]",
    "big5hkscs": rb"[\xa1-\xc6][\x40-\x7e\xa1-\xfe]",
    "cp1251": rb"[\xe0-\xff\xb3\xb4\xb8\xba\xbf]",
    "koi8_r": rb"[\xc0-\xdf\xa3\xa4\xa6\xa7]",
}
"""The frequent characters of an encoding: signs, kana, syllables, the first level of ideographs; small letters."""
_LEAST_COMMON = 0.75
"""Least share of frequent characters in an encoding that is guessed."""
_MOST_FAULTS = 0.05
"""Most faults in a text of a declared encoding, as a share of its characters beyond ASCII."""
_LOOKED_AT = 20_000


def decoded(content: bytes) -> tuple[str, str]:
    """The text and, if it may be wrong, why: invalid bytes, or a guessed encoding. UnicodeDecodeError if none fits."""
    if mark := next(filter(content.startswith, BYTE_ORDER_MARKS), None):
        return content.decode(BYTE_ORDER_MARKS[mark], errors="replace"), ""
    declared = _declared(content)
    if b"\x1b$" in content:  # the only encoding here that is written in ASCII
        declared = declared or "iso2022_jp"
    elif (text := _strictly(content, "utf-8")) is not None:
        return text, ""
    if declared:
        text = content.decode(declared, errors="replace")
        faults = text.count("\ufffd")
        if faults <= _MOST_FAULTS * sum(not character.isascii() for character in text):
            return text, f"invalid bytes of {declared} are replaced" * bool(faults)
    text = content.decode(errors="replace")
    faults = text.count("\ufffd")
    if faults < sum(not character.isascii() for character in text) / 2:
        return text, "invalid bytes are replaced"
    guessed = _guessed(content)
    return content.decode(guessed, errors="replace"), f"the encoding of the file is guessed: {guessed}"


def _declared(content: bytes) -> str:
    """The encoding that a text declares; empty if it is none, or not one of bytes beyond ASCII."""
    begins = content[:_DECLARED_WITHIN]
    for declaration in _DECLARATIONS:
        # Comments of HTML do not count, unless the comment is the declaration.
        found = declaration.search(_COMMENT.sub(b"", begins)) or declaration.match(begins)
        with suppress(LookupError):
            name = codecs.lookup(found[1].decode().lower().removeprefix("x-")).name if found else ""
            if _ENCODING.fullmatch(name):
                return _LARGER.get(name, name)
    return ""


def _guessed(content: bytes) -> str:
    """The encoding that bytes beyond ASCII speak for.

    In Western texts most of them stand alone; elsewhere whole words are made of them.
    """
    runs = re.findall(rb"[\x80-\xff]+", content)
    alone, pairs = (2 * sum(len(run) <= most for run in runs) > len(runs) for most in (1, 2))
    if alone and not re.search(rb"[\x81-\x84]", content):
        return "cp1252"
    shares = {encoding: _common_share(content, encoding) for encoding in _COMMON}
    best = max(shares, key=shares.__getitem__)
    if shares[best] >= _LEAST_COMMON:
        return best
    if pairs:
        return "cp1252"
    at = content.index(runs[0])
    raise UnicodeDecodeError("utf-8", content, at, at + 1, "its encoding is unknown")


def _common_share(content: bytes, encoding: str) -> float:
    """Share of the frequent characters among those beyond ASCII; 0 if the text cannot be of this encoding."""
    if (text := _strictly(content, encoding)) is None:
        return 0.0
    beyond = "".join(re.findall(r"[^\x00-\x7f]+", text))[:_LOOKED_AT]
    common = re.compile(_COMMON[encoding], re.DOTALL)
    return sum(bool(common.fullmatch(character.encode(encoding))) for character in beyond) / len(beyond)


def _strictly(content: bytes, encoding: str) -> str | None:
    try:
        return content.decode(encoding)
    except UnicodeDecodeError:
        return None
