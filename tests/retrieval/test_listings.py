"""A listing that runs over several passages is recognised and joined."""

from pathlib import Path

import pytest

from kb.usecases.knowledge_base import KnowledgeBase
from retrieval.listings import begins_inside, code_in, ends_inside, with_whole_listing


@pytest.mark.parametrize(
    ("text", "kind", "inside"),
    [
        ("Text.", "text", (False, False)),
        ("```c\nx();\n```", "code", (False, False)),
        ("```\nx();\n```", "code", (False, False)),
        ("Text:\n\n```c\nx();", "text", (False, True)),
        ("Text:\n\n```\nx();", "text", (False, True)),
        ("```c\nx();", "code", (False, True)),
        ("x();\ny();", "code", (True, True)),
        ("x();\n```", "code", (True, False)),
        ("x();\n```\n\nText.", "text", (True, False)),
        ("x();\n```\n\nText:\n\n```c\ny();\n```", "text", (True, False)),
        ("x();\n```\n\nText:\n\n```c\ny();", "text", (True, True)),
    ],
)
def test_a_passage_begins_and_ends_inside_a_listing_or_not(text: str, kind: str, inside: tuple[bool, bool]) -> None:
    assert (begins_inside(text, kind), ends_inside(text, kind)) == inside


def test_a_hit_in_a_long_listing_comes_with_all_of_it_and_nothing_else(kb: KnowledgeBase, tmp_path: Path) -> None:
    lines = [f"step_{n:03}(queue_{n:03}, barrier_{n:03});" for n in range(120)]
    listing = "\n".join(["```c", *lines, "```"])
    (tmp_path / "kernel.md").write_text(f"# Kernel\n\nBefore it.\n\n{listing}\n\nAfter it.\n", encoding="utf-8")
    kb.ingest([tmp_path / "kernel.md"], target="mi300x")

    found = kb.search("step_060", target="mi300x", limit=1).hits
    whole = with_whole_listing(found[0].model_copy(update={"before": (), "after": ()}), kb.catalog)

    text = "\n".join(p.text for p in (*whole.before, whole.passage, *whole.after))
    assert len(whole.before + whole.after) > 1
    assert listing in text
    assert "\n".join(lines) in kb.context("step_060", target="mi300x", budget_tokens=4000).text


@pytest.mark.parametrize(
    ("text", "kind", "code"),
    [
        ("Text.\n```c\nf(x);\n```\nMore.", "text", "f(x);"),
        ("```console\n$ make\n```\n```c\ng();\n```", "text", "g();"),
        ("  h();\n  return;", "code", "  h();\n  return;"),
        ("No listing.", "text", ""),
    ],
)
def test_the_code_of_a_passage_is_what_its_listings_hold_without_what_programs_print(
    text: str, kind: str, code: str
) -> None:
    assert code_in(text, kind) == code
