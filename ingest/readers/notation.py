"""How pictures, powers and indices are written as text, for all formats."""

import re
from urllib.parse import unquote

_SIGNS = {"TM": "™", "tm": "™", "R": "®"}
_NO_POWERS = {"st", "nd", "rd", "th", "®", "©", "™", "*", "†", "‡"}


def figure(description: str, path: str) -> str:
    """Return the text for a picture: its description, else its file name; empty if it has neither."""
    file = unquote(path.partition("?")[0]).rpartition("/")[2]
    name = "" if path.startswith("data:") or file.startswith("[data left out") else file
    shown = name if description == path else " ".join(description.split()) or name
    return f"[figure: {shown}]" if shown else ""


def script(sign: str, text: str) -> str:
    """Write a power (`sign` is `^`) or an index (`_`): 2^16 is not 216. The ending of a word (1st) is not a power."""
    text = _SIGNS.get(text, text)
    if not text or text in _NO_POWERS:
        return text
    return sign + (text if re.fullmatch(r"[-+]?[\w.]+", text) else f"({text})")
