"""The picture of a PDF's page. A process of its own draws it: a damaged file ends no other.

As a program, it takes the arguments of `main` and writes the picture to its output.
"""

import faulthandler
import io
import os
import subprocess
import sys
from pathlib import Path

from kb.errors import DocumentError

SECONDS, MEMORY_BYTES = 30.0, 2 << 30
LONGER_SIDE = 1600
"""Pixels of the longer side of the picture."""


def page_image(file: Path, page: int) -> bytes:
    """Return a page, counted from 1, as a PNG.

    Raises:
        DocumentError: the file is no readable PDF, or has no such page.
    """
    command = [sys.executable, "-P", "-m", "ingest.page_image", os.fspath(file), str(page)]
    done = subprocess.run(command, capture_output=True, check=False)
    if done.returncode or not done.stdout:
        raise DocumentError(f"page {page} of {file} cannot be drawn", hint="open the file in another program")
    return done.stdout


def main(file: str, page: int) -> None:
    import pypdfium2 as pdfium

    from ingest.reading_process import limit_memory

    faulthandler.dump_traceback_later(SECONDS, exit=True)
    limit_memory(MEMORY_BYTES)

    with pdfium.PdfDocument(file) as document:
        shown = document[page - 1]
        picture = shown.render(scale=LONGER_SIDE / max(shown.get_size())).to_pil()
    png = io.BytesIO()
    picture.save(png, "PNG")
    sys.stdout.buffer.write(png.getvalue())


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
