"""The text of a file: base64 data is left out, in every format."""

import time
from pathlib import Path

import pytest

from ingest.readers import read
from ingest.source import without_data

LONG = "iVBORw0KGgo" * 40
NOTE = "[data left out: 440 characters]"
MOST_SECONDS = 2.0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f'<img src="data:image/png;base64,{LONG}">', f'<img src="{NOTE}">'),
        ("data:text/plain;charset=utf-8;base64,QUJD tail", "[data left out: 4 characters] tail"),
        (f"![plot](data:image/png;base64,{LONG})", f"![plot](<{NOTE}>)"),
        (f"[plot]: data:image/png;base64,{LONG}", f"[plot]: <{NOTE}>"),
        (f"one {LONG}== two", "one [data left out: 442 characters] two"),
        ("A" * 401, "[data left out: 401 characters]"),
        ("A" * 400, "A" * 400),
        ("data: 0x00, base64, none", "data: 0x00, base64, none"),
        ("_".join(["word"] * 200), "_".join(["word"] * 200)),
    ],
)
def test_base64_data_becomes_a_note(text: str, expected: str) -> None:
    assert without_data(text) == expected


@pytest.mark.parametrize("part", ["A" * 400 + " ", "data:", "data:a;b=c", "]: \t", "data:x;base64,", "+/" * 300])
def test_time_grows_linearly_with_the_length(part: str) -> None:
    began = time.process_time()
    without_data(part * (2_000_000 // len(part)))

    assert time.process_time() - began < MOST_SECONDS


def test_no_reader_sees_base64_data_and_lines_keep_their_numbers() -> None:
    text = f"# Head\n\n![A plot](data:image/png;base64,{LONG})\n\nlast\n"
    document = read(Path("manual.md"), text.encode(), root=Path("/"))

    assert "iVBOR" not in document.text
    assert "[figure: A plot]" in document.text
    assert document.lines[-1] == 5
