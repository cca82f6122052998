"""Screens fit a terminal, and a pipe gets whole lines."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Callable
from pathlib import Path
from threading import Thread

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kb.cli import table
from tests.cli.conftest import FACT_HEADER, Run

SCREENS = {
    "facts": "facts mi210",
    "facts --all": "facts mi210 --all",
    "facts of one quantity": "facts mi210 matrix_shape",
    "facts conflicts": "facts conflicts",
    "search": "search LDS --target mi210",
    "targets list": "targets list",
    "skills list": "skills list",
    "skills search": "skills search softmax",
    "skills show": "skills show softmax-cpp",
    "docs list": "docs list",
    "docs show": "docs show mi210/sheet.md",
    "docs show --section": "docs show mi210/sheet.md --section Chip",
    "ingest": "ingest {docs} --dry-run",
    "doctor": "doctor",
}
ROWS = (
    "| lds_size | 65 | KiB | per compute unit, as long as no other workgroup of the same unit has taken it | g |\n"
    "| matrix_shape | 32x32x8 | MxNxK | float16, dense, matrix, v_mfma_f32_32x32x8_f16 | g |\n"
    "| compute_units | 104 | 1 | per device, of which a driver may reserve some for other purposes | g |\n"
)
DOCUMENTS = {
    "mi210/sheet.md": f"# Chip\n\nThe LDS is a memory that {'every wavefront of a workgroup may use, ' * 5}"
    f"and no other.\n\n{FACT_HEADER}{ROWS}",
    "mi250/sheet.md": f"# Chip\n\n{FACT_HEADER}{ROWS.replace('65', '97')}",
    "mi210/notes.md": "# Notes\n\n| Chip | L3 cache (MB) |\n|---|---|\n| MI210 | 8 |\n",
    "mi210/other.md": "# Notes\n\n| Chip | L3 cache (MB) |\n|---|---|\n| MI210 | 9 |\n",
    "mi210/a-folder-with-a-rather-long-name/of-which-there-are-several/and-more/deep.md": "# Deep\n\nText.\n",
}


@pytest.fixture(scope="module")
def manuals(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder `docs` beside the home that has read it."""
    root = tmp_path_factory.mktemp("screens")
    for name, text in DOCUMENTS.items():
        file = root / "docs" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    environment = os.environ | {"KB_HOME": str(root / "home"), "KB_EMBEDDING_MODEL": "none"}
    ingest = [sys.executable, "-m", "kb.cli", "ingest", str(root / "docs")]
    subprocess.run(ingest, env=environment, capture_output=True, check=True)
    return root


@pytest.fixture
def piped(run: Run, manuals: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """What a screen writes into a pipe, without the seconds that an ingest took."""
    monkeypatch.setenv("KB_HOME", str(manuals / "home"))
    return lambda screen: untimed(run(*SCREENS[screen].format(docs=manuals / "docs").split()).out)


@pytest.fixture
def on_terminal(piped: Callable[[str], str], monkeypatch: pytest.MonkeyPatch) -> Callable[[str, int], str]:
    """What a screen shows on a pseudo terminal of so many columns."""

    def show(screen: str, columns: int) -> str:
        ours, its = pty.openpty()
        fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        shown: list[bytes] = []
        reader = Thread(target=_read, args=(ours, shown))
        reader.start()
        with os.fdopen(its, "w", encoding="utf-8") as terminal, monkeypatch.context() as patched:
            patched.delenv("COLUMNS")
            patched.setattr(sys, "stdout", terminal)
            patched.setattr(sys, "__stdout__", terminal)
            piped(screen)
        reader.join()
        os.close(ours)
        return untimed(b"".join(shown).decode().replace("\r\n", "\n"))

    return show


def _read(terminal: int, shown: list[bytes]) -> None:
    try:
        while piece := os.read(terminal, 1 << 16):
            shown.append(piece)
    except OSError:  # how Linux says that the other end is closed
        pass


def untimed(text: str) -> str:
    return re.sub(r"in [\d.]+ s", "", text)


def copied(line: str) -> bool:
    """Paths and citations that are copied and opened stay in one piece."""
    return bool(re.match(r"stated in |  file: |   [0-9a-f]{12}  |ok +home ", line))


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("columns", [80, 200])
def test_a_screen_fits_the_terminal_and_breaks_no_word(
    piped: Callable[[str], str], on_terminal: Callable[[str, int], str], screen: str, columns: int
) -> None:
    shown, whole = on_terminal(screen, columns), piped(screen)

    assert shown.strip()
    assert [line for line in shown.splitlines() if len(line) > columns and not copied(line)] == []
    words = {word for line in shown.splitlines() if not copied(line) for word in line.split() if "…" not in word}
    assert words - set(whole.split()) - {"..."} == set()


@pytest.mark.parametrize("screen", SCREENS)
def test_a_pipe_gets_whole_lines_whatever_the_width(
    piped: Callable[[str], str], on_terminal: Callable[[str, int], str], monkeypatch: pytest.MonkeyPatch, screen: str
) -> None:
    shown = []
    for columns in ("40", "300"):
        monkeypatch.setenv("COLUMNS", columns)
        shown.append(piped(screen))

    assert shown[0] == shown[1]
    assert "…" not in shown[0]
    assert " ...\n" not in shown[0]
    assert on_terminal(screen, 2000) == shown[0], "as on a terminal wide enough for all"


def test_a_fact_is_one_line_of_a_pipe_with_its_whole_condition(piped: Callable[[str], str]) -> None:
    lines = piped("facts").splitlines()

    at = lines[0].index("condition")
    facts = [line for line in lines if re.search(r"  [0-9a-f]{12}$", line)]
    conditions = [row.split(" | ")[3] for row in ROWS.splitlines()]
    assert sorted(line[at:-12].strip() for line in facts) == sorted(conditions)


CELLS = st.lists(st.sampled_from(["a", "bb", "ccc", "dddd", "12", "3,456", "é", "字节"]), min_size=1, max_size=12).map(
    " ".join
)


@given(st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=1, max_size=6), st.integers(24, 120))
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_table_fits_and_keeps_every_word(
    monkeypatch: pytest.MonkeyPatch, rows: list[tuple[str, str, str]], width: int
) -> None:
    lines: list[str] = []
    monkeypatch.setattr(table, "show", lines.append)
    monkeypatch.setattr(table, "screen_width", lambda: width)

    table.show_table(("one", "two", "three"), rows, wrap={0, 1, 2})

    assert max(table.cell_len(line.rstrip()) for line in lines) <= width
    wanted = sorted(word for row in [("one", "two", "three"), *rows] for cell in row for word in cell.split())
    assert sorted(word for line in lines for word in line.split()) == wanted


def test_a_word_that_is_too_long_breaks_after_punctuation_and_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[str] = []
    monkeypatch.setattr(table, "show", lines.append)
    monkeypatch.setattr(table, "screen_width", lambda: 30)

    table.show_table((), [("matrix_shape", "v_mfma_f32_32x32x8_bf16")], wrap={1})

    assert [line.rstrip() for line in lines] == ["matrix_shape  v_mfma_f32_", "              32x32x8_bf16"]
