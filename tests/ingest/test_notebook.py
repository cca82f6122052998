"""Notebooks: cells and outputs become blocks that cite the lines of the notebook's file."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.builder import ParsedDocument
from ingest.readers import read
from kb.errors import DocumentError
from tests.ingest.documents import PROPERTY, show

CELLS = [
    {"cell_type": "markdown", "source": ["# Tiles\n", "\n", "A tile has *128* rows."]},
    {
        "cell_type": "code",
        "source": ["x = 1\n", "print(x)"],
        "outputs": [
            {"output_type": "stream", "text": ["\u001b[31m1\u001b[0m\n"]},
            {
                "output_type": "display_data",
                "data": {"text/html": "<table></table>", "text/plain": ["   rows\n", "0   128"], "image/png": "iVBO"},
            },
            {"output_type": "error", "traceback": ["KeyError: 'x'"]},
        ],
    },
    {"cell_type": "code", "source": "s = '```'\nt = 2", "outputs": []},
    {"cell_type": "raw", "source": ["kept as it is"]},
]
METADATA = {"language_info": {"name": "python"}}


def parse(notebook: object, **style: int) -> ParsedDocument:
    return read(Path("tiles.ipynb"), json.dumps(notebook, **style).encode(), root=Path("/"))


def test_cells_and_outputs_become_blocks_with_their_lines() -> None:
    shown = show(parse({"cells": CELLS, "metadata": METADATA}, indent=1)).splitlines()

    assert shown == [
        "6 heading §Tiles: # Tiles",
        "8 text §Tiles: A tile has 128 rows.",
        "14 code §Tiles: ```python",
        "14 code §Tiles: x = 1",
        "15 code §Tiles: print(x)",
        "15 code §Tiles: ```",
        "21 code §Tiles: ```",
        "21 code §Tiles: 1",
        "21 code §Tiles: ```",
        "21 text §Tiles: [figure]",
        "29 code §Tiles: ```",
        "29 code §Tiles:    rows",
        "30 code §Tiles: 0   128",
        "30 code §Tiles: ```",
        "38 code §Tiles: ```",
        "38 code §Tiles: KeyError: 'x'",
        "38 code §Tiles: ```",
        "45 code §Tiles: ```python",
        "45 code §Tiles: s = '```'",
        "45 code §Tiles: t = 2",
        "45 code §Tiles: ```",
        "51 code §Tiles: ```",
        "51 code §Tiles: kept as it is",
        "51 code §Tiles: ```",
    ]


def test_lines_hold_after_escaped_quotes_and_after_a_member_that_stands_twice() -> None:
    content = r"""{"cells": [
{"cell_type": "raw", "source": "first", "cell_type": "raw",
 "source": "say \"hi\" \\"},
{"cell_type": "raw", "source":
 "next"}]}"""

    document = read(Path("tiles.ipynb"), content.encode(), root=Path("/"))

    assert [line for line in show(document).splitlines() if "```" not in line] == [
        '3 code §: say "hi" \\',
        "5 code §: next",
    ]


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"cells": 1}', "[" * 100_000])
def test_what_is_no_notebook_is_said_to_be_none(content: str) -> None:
    with pytest.raises(DocumentError):
        read(Path("tiles.ipynb"), content.encode(), root=Path("/"))


VALUES = st.recursive(
    st.one_of(st.none(), st.integers(), st.text(max_size=6)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner, max_size=3)),
    max_leaves=5,
)
KEYS = st.sampled_from(["cell_type", "source", "outputs", "text", "data", "text/plain", "traceback"])


@PROPERTY
@given(st.lists(st.dictionaries(KEYS, VALUES, max_size=4), max_size=4), VALUES)
def test_cells_of_every_form_can_be_read(cells: list[object], metadata: object) -> None:
    document = parse({"cells": cells, "metadata": metadata}, indent=1)

    assert len(document.lines) == 1 + document.text.count("\n")
    assert min(document.lines) >= 1
