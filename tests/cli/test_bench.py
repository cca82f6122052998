"""`kb bench` says what is wrong before it measures."""

from pathlib import Path

import pytest

from tests.cli.conftest import Run


@pytest.mark.usefixtures("home")
def test_a_file_that_cannot_be_written_is_an_error_before_anything_is_measured(run: Run, tmp_path: Path) -> None:
    refused = run("bench", "judge", "--quick", "--out", tmp_path / "nowhere" / "out.json")

    assert refused.status == 2
    assert "nowhere" in refused.err
    assert "Traceback" not in refused.err
