"""Files that are broken, hostile or no documents at all cost themselves alone: each is named, the rest is found."""

import gzip
import os
import sys
import time
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from kb.types.documents import FileReport
from kb.usecases.knowledge_base import KnowledgeBase

SECONDS = 60
GOOD_NAMES = ("a.md", "m.md", "z.md")
GOOD = "# Good\n\nThe zanzibar unit has 64 KiB.\n"


@pytest.fixture
def one_reader_for_all() -> None:
    """Not here, where it is tested what becomes of a process that reads."""


def pdf_of(stream: bytes, *, filters: str = "/FlateDecode", xref: bytes | None = None) -> bytes:
    """A page with one content stream."""
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R >>",
        b"<< /Length %d /Filter %s >>\nstream\n%s\nendstream" % (len(stream), filters.encode(), stream),
    ]
    out, places = b"%PDF-1.7\n", []
    for number, content in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    start = len(out)
    out += b"xref\n0 5\n0000000000 65535 f \n" + table if xref is None else xref
    return out + b"trailer\n<< /Size 5 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % start


def deflated_zeros(rounds: int) -> bytes:
    """64 MiB of blanks, deflated again and again: a kilobyte that opens to all of it."""
    data = b" " * (64 << 20)
    for _ in range(rounds):
        data = zlib.compress(data, 9)
    return data


BAD: dict[str, Callable[[Path], object]] = {
    "bomb.pdf": lambda p: p.write_bytes(pdf_of(deflated_zeros(2), filters="[/FlateDecode /FlateDecode]")),
    "broken-xref.pdf": lambda p: p.write_bytes(pdf_of(zlib.compress(b"BT ET"), xref=b"xref\n0 9999999\nnonsense\n")),
    "truncated.pdf": lambda p: p.write_bytes(pdf_of(zlib.compress(b"BT ET"))[:60]),
    "not-a.pdf": lambda p: p.write_bytes(b"hello"),
    "empty.pdf": lambda p: p.write_bytes(b""),
    "archive.txt": lambda p: p.write_bytes(gzip.compress(os.urandom(4096)) + b"\0" * 4096),
    "long-line.md": lambda p: p.write_text(
        "![x](data:image/png;base64," + "iVBORw0KGgo" * 14_464 + ")\n", encoding="utf-8"
    ),
    "one-line.html": lambda p: p.write_text("<table>" + "<tr><td>" * 20_000, encoding="utf-8"),
    "deep.html": lambda p: p.write_text("<div>" * 20_000 + "x", encoding="utf-8"),
    "deep.md": lambda p: p.write_text(">" * 5_000 + "x\n", encoding="utf-8"),
    "deep.rst": lambda p: p.write_text("".join("  " * n + f"* x{n}\n\n" for n in range(300)), encoding="utf-8"),
    "marks.md": lambda p: p.write_text("*_`[" * 20_000, encoding="utf-8"),
    "bomb.csv": lambda p: p.write_text(",".join("abcdefgh") + "\n" + '"' * 100_001, encoding="utf-8"),
    "wide.adoc": lambda p: p.write_text('[cols="100000*"]\n|===\n.9999+|x\n|===\n', encoding="utf-8"),
    "loop.rst": lambda p: p.write_text(".. include:: loop.rst\n", encoding="utf-8"),
    "loop.adoc": lambda p: p.write_text("include::loop.adoc[]\n", encoding="utf-8"),
    "outside.rst": lambda p: p.write_text(".. include:: /etc/passwd\n", encoding="utf-8"),
    "broken.ipynb": lambda p: p.write_text('{"cells": [{"source": 3}', encoding="utf-8"),
    "yaml.md": lambda p: p.write_text("---\na: &a [*a, *a]\n---\n# Text\n", encoding="utf-8"),
    "utf16.md": lambda p: p.write_text("# Wide\n", encoding="utf-16"),
    "cp1252.md": lambda p: p.write_bytes("# Größe\n".encode("cp1252")),
    "pipe.md": os.mkfifo,
    "folder.md": Path.mkdir,
    "loop": lambda p: p.symlink_to(p.parent),
    "turn.md": lambda p: p.symlink_to(p),
}
"""How each bad file is made."""


@pytest.mark.skipif(sys.platform != "linux", reason="makes pipes, links and names that only Linux has")
def test_a_bad_file_harms_no_other_file_and_costs_little_time(kb: KnowledgeBase, tmp_path: Path) -> None:
    folder = tmp_path / "chip-x"
    folder.mkdir()
    for name, make in BAD.items():
        make(folder / name)
    (folder / os.fsdecode(b"caf\xe9.md")).write_text(GOOD, encoding="utf-8")
    for size, name in enumerate(GOOD_NAMES, 64):
        (folder / name).write_text(GOOD.replace("64", str(size)), encoding="utf-8")

    began = time.monotonic()
    report = kb.ingest([folder])

    assert time.monotonic() - began < SECONDS
    by_name = {f.path.removeprefix("chip-x/"): f for f in report.files}
    assert all(by_name[name].outcome == "new" for name in (*GOOD_NAMES, "utf16.md", "cp1252.md"))
    assert all(_says_why(by_name[name]) for name in ("not-a.pdf", "truncated.pdf", "archive.txt", "pipe.md", "turn.md"))
    assert by_name["caf?.md"].outcome == "skipped"
    assert "root:" not in "\n".join(h.passage.text for h in kb.search("root bin bash", target="chip-x", limit=50).hits)
    found = kb.search("zanzibar unit", target="chip-x", limit=50).hits
    assert {h.passage.citation.path for h in found} >= {f"chip-x/{name}" for name in GOOD_NAMES}


def _says_why(file: FileReport) -> bool:
    return file.outcome in ("failed", "skipped") and bool(file.reason)
