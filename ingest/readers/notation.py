"""How pictures, powers and indices are written, whatever the format they come from."""

import re
from urllib.parse import unquote

_SIGNS = {"TM": "™", "tm": "™", "R": "®"}
_NO_POWERS = {"st", "nd", "rd", "th", "®", "©", "™", "*", "†", "‡"}


def figure(description: str, path: str) -> str:
    """What stands for a picture: its description, else the name of its file; nothing where it has neither."""
    file = unquote(path.partition("?")[0]).rpartition("/")[2]
    name = "" if path.startswith("data:") or file.startswith("[data left out") else file
    shown = name if description == path else " ".join(description.split()) or name
    return f"[figure: {shown}]" if shown else ""


def script(sign: str, text: str) -> str:
    """A power (`sign` is `^`) or an index (`_`): 2^16 is not 216. What only ends a word, as in 1st, is no power."""
    text = _SIGNS.get(text, text)
    if not text or text in _NO_POWERS:
        return text
    return sign + (text if re.fullmatch(r"[-+]?[\w.]+", text) else f"({text})")
