"""Handmade documents in the form that ingest passes to the catalog, so that the catalog is tested without ingest."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from kb.types.records import ChunkRecord, DocumentRecord, FactRecord, SectionRecord

MODEL = "test@1"
WEIGHTS = (1.0, 1.0, 1.0, 1.0, 1.0)


def chunk_of(
    text: str, start: int, end: int, *, section: int | None = None, kind: str = "text", heading: str = ""
) -> ChunkRecord:
    """A span of `text`, embedded in one window."""
    body = text[start:end]
    return ChunkRecord(
        section=section,
        kind=kind,
        lead="",
        start=start,
        end=end,
        heading=heading,
        body=body,
        windows=(f"{heading}\n{body}",),
    )


def lds_document(kib: int = 64, **changes: object) -> DocumentRecord:
    """A document with two sections and two fact rows; its file has ten more lines before the second section."""
    lines = [
        "# LDS",
        "",
        f"Each compute unit has {kib} KiB of local data share.",
        "It is shared by a workgroup.",
        "",
        "## Banks",
        "",
        f"| lds_size | {kib} | KiB | per compute unit | manual |",
        "| lds_banks | 32 | 1 |  | manual |",
    ]
    text = "\n".join(lines)
    starts = [sum(len(line) + 1 for line in lines[:i]) for i in range(len(lines))]
    section = SectionRecord(1, "LDS", 0, len(text), None)
    banks = SectionRecord(2, "Banks", starts[5], len(text), 0)
    first = (starts[2], starts[4] - 1)
    document = DocumentRecord(
        source="/manuals/mi300x/lds.md",
        origin="mi300x/lds.md",
        path="mi300x/lds.md",
        target="mi300x",
        title="LDS",
        format="markdown",
        version="1",
        licence="MIT",
        trust="vendor",
        private=False,
        sha256="ab" * 32,
        stamp="[]",
        pipeline="1/test",
        text=text,
        lines=(1, 2, 3, 4, 5, 16, 17, 18, 19),
        warnings=(),
        sections=(section, banks),
        chunks=(
            chunk_of(text, *first, section=0, heading="LDS"),
            chunk_of(text, starts[7], len(text), section=1, kind="table", heading="LDS > Banks"),
        ),
        facts=(
            FactRecord(1, "mi300x", "lds_size", str(kib), kib, "KiB", "per compute unit", "manual", starts[7],
                       starts[8] - 1),
            FactRecord(1, "mi300x", "lds_banks", "32", 32, "1", "", "manual", starts[8], len(text)),
        ),
    )  # fmt: skip
    return replace(document, **({"origin": changes["source"]} if "source" in changes else {}), **changes)


def text_document(text: str, source: str = "/manuals/text.md", target: str = "any") -> DocumentRecord:
    """One chunk with the whole of `text`."""
    return replace(
        lds_document(),
        source=source,
        origin=source,
        target=target,
        title="",
        path="",
        text=text,
        lines=tuple(range(1, 2 + text.count("\n"))),
        sections=(),
        chunks=(chunk_of(text, 0, len(text)),),
        facts=(),
    )


def vectors_of(document: DocumentRecord) -> dict[str, NDArray[np.float32]]:
    return {digest: np.array([0.6, 0.8], np.float32) for digest in document.window_digests()}
