"""Find the licence of a document in the nearest licence file above it."""

import re
from functools import cache
from itertools import chain
from pathlib import Path

from ingest.source import beginning

LICENCE_NAMES = ("LICENSE", "LICENCE", "COPYING")
READ_CHARACTERS = 100_000

_STATED = re.compile(r"SPDX-License-Identifier:\s*([\w.+-]+(?: (?:OR|AND|WITH) [\w.+-]+)*)")
_TELLING = {
    "CC-BY-ND-4.0": r"Attribution-NoDeriv\w* 4\.0|CC[ -]BY-ND",
    "CC-BY-SA-4.0": r"Attribution-ShareAlike 4\.0|CC[ -]BY-SA",
    "CC-BY-4.0": r"Attribution 4\.0 International",
    "CC-BY-3.0": r"Attribution 3\.0",
    "Apache-2.0": r"Apache(?: Licen[sc]e,?\s*(?:Version |v)?|-)2\.0",
    "MIT": r"Permission is hereby granted, free of charge",
    "BSD-3-Clause": r"Redistribution and use in source and binary forms[^$]*Neither the name",
    "BSD-2-Clause": r"Redistribution and use in source and binary forms(?![^$]*Neither the name)",
    "GPL": r"GNU GENERAL PUBLIC LICENSE",
    "LGPL": r"GNU LESSER GENERAL PUBLIC LICENSE",
    "MPL-2.0": r"Mozilla Public License",
}
"""Text that identifies each licence (named as on spdx.org; GPL and LGPL without the version)."""


def licence_near(path: Path, root: Path) -> str:
    """Return the licences that the nearest folder states, searching from the folder of `path` up to `root`.

    `LICENSE.name` beside a folder `name` applies only to that folder. A licence that is not recognised is returned as
    the name of its file. Empty when no folder states a licence.
    """
    folders = zip(path.parents, (path, *path.parents), strict=False)
    found = (_licence(folder, inner.name) for folder, inner in folders if folder.is_relative_to(root))
    return next(filter(None, found), "")


def licences_in(text: str) -> list[str]:
    """Return the licences that `text` names for programs (SPDX), then those whose words it holds."""
    stated = _STATED.findall(text)
    text = " ".join(text.split())
    told = [name for name, pattern in _TELLING.items() if re.search(pattern, text, re.IGNORECASE)]
    return list(dict.fromkeys([*stated, *told]))


@cache
def _licence(folder: Path, inner: str) -> str:
    names = [f for f in sorted(folder.iterdir()) if f.name.upper().startswith(LICENCE_NAMES)]
    files = [f for f in names if f.is_file() and not f.is_symlink()]
    named = [f for f in files if f.name.partition(".")[2] == inner]
    common = [f for f in files if f.suffix.lower() in ("", ".txt", ".md", ".rst")]
    stated = (licences_in(beginning(f, READ_CHARACTERS)) or [f.name] for f in named or common)
    return ", ".join(dict.fromkeys(chain.from_iterable(stated)))
