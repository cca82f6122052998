"""A small writer of PDF: pages of text, lines and images, with an outline."""

import re
from collections.abc import Sequence

WIDTH, HEIGHT = 600, 800
TEXT, BOLD, CODE, SIGNS = "F1", "F2", "F3", "F4"
"""Helvetica, bold, Courier; and a font in which the letters A to E show other signs."""
SIGN_CODES = {"A": "FB01", "B": "00660074", "C": "F0B7", "D": "E123", "E": "D835DC65"}


def put(x: float, y: float, text: str, *, font: str = TEXT, size: float = 10) -> str:
    """Write text; `y` is counted from the top."""
    escaped = re.sub(r"([\\()])", r"\\\1", text).encode("cp1252", "replace").decode("latin-1")
    return f"BT /{font} {size} Tf {x} {HEIGHT - y} Td ({escaped}) Tj ET"


def lines(*texts: str, x: float = 72, y: float = 200, font: str = TEXT, size: float = 10, step: float = 12) -> str:
    return "\n".join(put(x, y + step * i, text, font=font, size=size) for i, text in enumerate(texts))


def rule(x0: float, y0: float, x1: float, y1: float) -> str:
    return f"{x0} {HEIGHT - y0} m {x1} {HEIGHT - y1} l S"


def table(
    rows: Sequence[Sequence[str]], *, y: float, widths: Sequence[float], heads: int = 1, frames: bool = False
) -> str:
    """Draw a table with ruling lines; the first `heads` rows are bold."""
    xs = [72 + sum(widths[:i]) for i in range(len(widths) + 1)]
    ys = [y + 20 * i for i in range(len(rows) + 1)]
    drawn = [rule(xs[0], at, xs[-1], at) for at in ys] + [rule(at, ys[0], at, ys[-1]) for at in xs]
    for r, row in enumerate(rows):
        for c, cell in enumerate(row):
            drawn.append(put(xs[c] + 6, ys[r] + 13, cell, font=BOLD if r < heads else TEXT))
            if frames:
                drawn.append(f"{xs[c] + 4} {HEIGHT - ys[r] - 16} {widths[c] - 8} 12 re S")
    return "\n".join(drawn)


def image(x: float, y: float, width: float, height: float) -> str:
    return f"q {width} 0 0 {height} {x} {HEIGHT - y - height} cm BI /W 1 /H 1 /BPC 8 /CS /G ID \xff EI Q"


def pdf(
    *pages: str,
    outline: Sequence[tuple[int, str, int, float]] = (),
    link: Sequence[float] = (),
    title: str = "",
    trailer: str = "",
    extra: str = "",
) -> bytes:
    """Return a PDF; each entry of `outline` has depth, title, page (from 1) and position on the page.

    `link` is an area of each page, x0, y0, x1, y1, that leads elsewhere.
    """
    areas = ""
    if link:
        x0, y0, x1, y1 = link
        target = "/A << /S /URI /URI (https://example.org) >>"
        areas = f"/Annots [<< /Type /Annot /Subtype /Link /Rect [{x0} {HEIGHT - y1} {x1} {HEIGHT - y0}] {target} >>]"
    cmap = "".join(f"<{ord(c):02x}> <{code}>\n" for c, code in SIGN_CODES.items())
    to_unicode = f"1 begincodespacerange <00> <ff> endcodespacerange {len(SIGN_CODES)} beginbfchar\n{cmap}endbfchar"
    fonts = {TEXT: "Helvetica", BOLD: "Helvetica-Bold", CODE: "Courier", SIGNS: "Helvetica"}
    objects = ["", "", _stream(to_unicode)]
    names = []
    for name, base in fonts.items():
        mapping = "/ToUnicode 3 0 R" if name == SIGNS else "/Encoding /WinAnsiEncoding"
        objects.append(f"<< /Type /Font /Subtype /Type1 /BaseFont /{base} {mapping} >>")
        names.append(f"/{name} {len(objects)} 0 R")
    kids = []
    for page in pages:
        objects.append(_stream(page))
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {WIDTH} {HEIGHT}] /Contents {len(objects)} 0 R "
            f"/Resources << /Font << {' '.join(names)} >> >> {areas} >>"
        )
        kids.append(f"{len(objects)} 0 R")
    first = len(objects) + 2
    objects += [""] * bool(outline)
    for i, (depth, title, page_number, y) in enumerate(outline):
        after = next((j for j in range(i + 1, len(outline)) if outline[j][0] <= depth), None)
        links = f"/Next {first + after} 0 R " if after is not None and outline[after][0] == depth else ""
        if i + 1 < len(outline) and outline[i + 1][0] > depth:
            links += f"/First {first + i + 1} 0 R /Last {first + i + 1} 0 R /Count 1 "
        target = f"[{kids[page_number - 1]} /XYZ 0 {HEIGHT - y} 0]"
        objects.append(f"<< /Title ({title}) /Parent {first - 1} 0 R {links}/Dest {target} >>")
    if outline:
        objects[first - 2] = f"<< /First {first} 0 R /Last {first + len(outline) - 1} 0 R /Count {len(outline)} >>"
    objects[0] = f"<< /Type /Catalog /Pages 2 0 R {f'/Outlines {first - 1} 0 R' if outline else ''} {extra} >>"
    objects[1] = f"<< /Type /Pages /Kids [{' '.join(kids)}] /Count {len(kids)} >>"
    objects.append(f"<< /Title ({title}) >>")
    trailer += f" /Info {len(objects)} 0 R" * bool(title)
    body = "%PDF-1.7\n"
    offsets = []
    for number, content in enumerate(objects, 1):
        offsets.append(len(body))
        body += f"{number} 0 obj\n{content}\nendobj\n"
    table = "".join(f"{offset:010} 00000 n \n" for offset in offsets)
    count = len(objects) + 1
    end = f"xref\n0 {count}\n0000000000 65535 f \n{table}trailer\n<< /Size {count} /Root 1 0 R {trailer} >>\n"
    return f"{body}{end}startxref\n{len(body)}\n%%EOF".encode("latin-1")


def _stream(content: str) -> str:
    return f"<< /Length {len(content)} >>\nstream\n{content}\nendstream"
