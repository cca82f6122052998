"""The worksheet's passages: what may state a fact, below what it is about; lists of features first."""

from pathlib import Path

import pytest

from kb.settings import Settings
from kb.usecases.knowledge_base import KnowledgeBase

FEATURES = """# WCHIP1 datasheet

## Features

- Core A
  - Runs at up to 800 MHz
  - 128 KB cache
- Core B
  - Runs at up to 1600 MHz
  - 256 KB cache
  - Four-stage pipeline, wv64imc_zba

## Driver functions

Cores and clusters are counted by this function.

| Return value | Cores |
|---|---|
| 0 | Success of counting cores |
| 0xa0058003 | Illegal count of cores |

1. Count the cores.

## Limits of WCHIP2

A WCHIP2 has 96 cores.

## Counts

| Cores | Count |
|---|---|
| Core A | 7 |
"""


@pytest.fixture
def shown(tmp_path: Path) -> dict[str, str]:
    """The text of the passages of each topic."""
    (tmp_path / "wchip1").mkdir()
    (tmp_path / "wchip1" / "manual.md").write_text(FEATURES)
    texts: dict[str, str] = {}
    with KnowledgeBase(Settings(home=tmp_path / "home", embedding_model="none")) as kb:
        kb.ingest([tmp_path / "wchip1"])
        for entry in kb.fact_questions("wchip1"):
            texts[entry.line.topic] = texts.get(entry.line.topic, "") + "\n".join(p.text for p in entry.passages)
    return texts


def test_lists_of_features_are_shown_first_and_whole_below_what_they_are_about(shown: dict[str, str]) -> None:
    assert next(iter(shown)) == "features"
    assert shown["features"].splitlines() == FEATURES.splitlines()[4:11]


@pytest.mark.parametrize("line", ["Success of counting", "Illegal count", "1. Count", "96 cores"])
def test_codes_numbers_of_list_items_and_what_is_about_a_sibling_are_left_out(shown: dict[str, str], line: str) -> None:
    assert line not in shown["execution"]
    assert "| Core A | 7 |" in shown["execution"]
