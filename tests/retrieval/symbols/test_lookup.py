"""`kb symbol`: what stands first, what is said of documents that disagree."""

from collections.abc import Callable
from pathlib import Path

import pytest

from kb.errors import QueryError, TargetError
from kb.settings import NO_MODEL, Settings
from kb.types.records import Trust
from kb.types.symbols import SymbolKind
from kb.usecases.knowledge_base import KnowledgeBase

SPECIFICATION = """---
title: Language specification
date: 2026-02-10
---
# Built-in functions

## broadcast(x, dims)

Repeats `x` along `dims`.

## fold

```
fold(x, op, axis)
```
"""
TUTORIAL = """# Softmax

```python
m = tl_max(x)
y = broadcast(m, dims=(0,), shape=(4, 4))
```

## Summing

`fold(x, axis)` adds all.
"""
Library = Callable[[dict[str, str]], KnowledgeBase]


@pytest.fixture
def library(tmp_path: Path) -> Library:
    """Writes files below a folder, ingests it as target `chip`, and opens the home."""

    def build(files: dict[str, str]) -> KnowledgeBase:
        for path, text in files.items():
            file = tmp_path / "chip" / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        kb = KnowledgeBase(Settings(home=tmp_path / "home", embedding_model=NO_MODEL))
        kb.ingest([tmp_path / "chip"])
        return kb

    return build


def languages(kb: Library) -> KnowledgeBase:
    return kb({"tutorials/VERSION": "1.1.6\n", "tutorials/a.md": TUTORIAL, "specification/b.md": SPECIFICATION})


def test_the_definition_comes_first_with_its_own_line_and_edition(library: Library) -> None:
    report = languages(library).symbol("broadcast")

    definition, call = report.places
    assert (definition.kind, definition.citation.place) == (SymbolKind.DEFINITION, "chip/specification/b.md:7")
    assert (definition.edition, definition.text) == ("2026-02-10", "broadcast(x, dims)")
    assert (call.kind, call.citation.place, call.edition) == (SymbolKind.CALL, "chip/tutorials/a.md:5", "1.1.6")


def test_every_place_can_be_cited(library: Library) -> None:
    kb = languages(library)

    for name in ("broadcast", "fold", "tl_max"):
        for place in kb.symbol(name).places:
            assert kb.cite(place.citation.id).citation.path == place.citation.path


def test_keywords_that_the_signature_lacks_are_named(library: Library) -> None:
    (note,) = languages(library).symbol("broadcast").notes

    expected = "tutorials/a.md of 1.1.6 uses broadcast(shape=), which specification/b.md of 2026-02-10 does not have"
    assert note == expected


def test_a_dated_change_log_makes_the_claim_that_the_keyword_is_gone(library: Library) -> None:
    kb = library(
        {
            "tutorials/VERSION": "1.1.6\n",
            "tutorials/CHANGELOG.md": "## 1.1.6 (2025-09-01)\n",
            "tutorials/a.md": TUTORIAL,
            "specification/b.md": SPECIFICATION,
        }
    )

    (note,) = kb.symbol("broadcast").notes

    assert "uses broadcast(shape=), which specification/b.md of 2026-02-10 no longer has" in note


def test_documents_that_disagree_are_named_and_the_newer_comes_first_only_if_it_is_known(library: Library) -> None:
    (note,) = languages(library).symbol("fold").notes

    assert "specification/b.md of 2026-02-10: fold(x, op, axis)" in note
    assert "tutorials/a.md of 1.1.6: fold(x, axis)" in note
    assert "which of them is newer is not known" in note


def test_the_newer_of_two_editions_comes_first(library: Library) -> None:
    kb = library({"v1.9/a.md": "# A\n\n## load(p)\n", "v1.10/a.md": "# A\n\n## load(p, mask)\n"})

    report = kb.symbol("load")

    assert [place.edition for place in report.places] == ["v1.10", "v1.9"]
    assert report.notes == (
        "documents disagree on load: v1.10/a.md of v1.10: load(p, mask); v1.9/a.md of v1.9: load(p) (the newest first)",
    )


def test_examples_that_define_their_own_function_do_not_disagree(library: Library) -> None:
    kb = library({f"{n}.md": f"# {n}\n\n```python\ndef kernel(x{', y' * n}):\n    pass\n```\n" for n in range(3)})

    assert kb.symbol("kernel").notes == ()


def test_a_method_of_something_else_is_no_evidence(library: Library) -> None:
    call = "# T\n\n```python\nz = array.broadcast(shape=3)\n```\n"
    kb = library({"a.md": call, "b.md": SPECIFICATION})

    assert kb.symbol("broadcast").notes == ()


def test_a_dotted_name_finds_the_definition_in_a_document_about_its_first_part(library: Library) -> None:
    files = {
        "nki.isa.md": "# nki.isa\n\n## nc_matmul\n\nMultiplies.\n",
        "b.md": "# Use\n\nCall nki.isa.nc_matmul here.\n",
    }
    report = library(files).symbol("nki.isa.nc_matmul")

    assert [(p.kind, p.citation.path) for p in report.places] == [
        (SymbolKind.DEFINITION, "chip/nki.isa.md"),
        (SymbolKind.MENTION, "chip/b.md"),
    ]


def test_many_places_are_counted_and_few_are_shown(library: Library) -> None:
    calls = "\n".join(f"y{n} = load(x{n})" for n in range(40))
    report = library({"a.md": f"# A\n\n## load(p)\n\n```python\n{calls}\n```\n"}).symbol("load")

    assert len(report.places) <= 15
    assert report.found == {SymbolKind.DEFINITION: 1, SymbolKind.CALL: 40}


def test_a_name_with_one_place_is_said_to_have_one(library: Library) -> None:
    assert languages(library).symbol("tl_max").notes == ("only one place names tl_max",)


def test_an_unknown_name_is_refused_with_similar_ones(library: Library) -> None:
    kb = languages(library)

    with pytest.raises(QueryError, match="no document of chip names tl_mex") as refused:
        kb.symbol("tl_mex", target="chip")
    assert "did you mean tl_max?" in refused.value.hint
    with pytest.raises(QueryError, match="not an identifier"):
        kb.symbol("how large is it")
    with pytest.raises(TargetError):
        kb.symbol("fold", target="no-such-chip")


def test_a_name_in_another_case_is_found(library: Library) -> None:
    assert library({"a.md": "# V_ADD\n\nAdds.\n"}).symbol("v_add").places[0].kind is SymbolKind.DEFINITION


def test_an_example_that_defines_the_same_word_is_no_definition_of_a_dotted_name(library: Library) -> None:
    example = "# E\n\n```cpp\nvoid dot(double* a) {\n}\n```\n"
    report = library({"a.md": example, "b.md": "# B\n\n```python\ny = tl.dot(a, b)\n```\n"}).symbol("tl.dot")

    assert [place.kind for place in report.places] == [SymbolKind.CALL]


def test_a_name_with_empty_brackets_in_a_text_is_no_signature(library: Library) -> None:
    kb = library({"a.md": "# A\n\n## init(filter, state)\n", "b.md": "# B\n\n### init()\n\nCall it first.\n"})

    assert kb.symbol("init").notes == ()


def test_untrusted_documents_have_no_say_on_a_signature(library: Library, tmp_path: Path) -> None:
    kb = languages(library)
    forum = tmp_path / "forum.md"
    forum.write_text("---\ndate: 2030-01-01\n---\n# F\n\n## broadcast(everything)\n")
    kb.ingest([forum], target="chip", trust=Trust.UNTRUSTED)

    assert [note for note in kb.symbol("broadcast").notes if "forum" in note] == []
    assert "untrusted" in {place.trust for place in kb.symbol("broadcast").places}
