"""What the tools answer, in both eras of the protocol."""

import re
from pathlib import Path

import pytest

from kb.mcp.advice import target_meant
from kb.mcp.server import Home
from kb.mcp.tools import kb_search
from kb.settings import Settings
from kb.usecases.knowledge_base import KnowledgeBase
from kb.usecases.sheets import ensure_sheets
from tests.conftest import HashEmbedder
from tests.mcp.conftest import ERAS, HOSTILE, LINE, Ask, Reply, cited, talk

SWIZZLING = {"phrasings": ["LDS swizzling"], "target": "mi100"}


@pytest.mark.parametrize("era", ERAS)
def test_a_search_gives_passages_of_the_target_with_ids_that_can_be_read(ask: Ask, era: str) -> None:
    found = ask("kb_search", era=era, phrasings=["LDS size", "local data share"], target="MI-210").answer

    assert (found["status"], found["truncated"], found["notes"]) == ("ok", False, [])
    assert {line.partition("]")[0] for line in cited(found).values()} == {""}, "no other target"
    assert found["trust"] == "vendor"
    prose = re.search(r"\[(\w+)\] Local data share\nEach compute unit has 64 KB", found["text"])
    assert "> 5 | Each compute unit has 64 KB" in ask("kb_read", era=era, id=prose[1]).answer["text"]


def test_one_phrasing_may_come_without_its_brackets(ask: Ask) -> None:
    assert ask("kb_search", phrasings="local data share", target="mi210").answer["text"]


def test_an_empty_string_is_no_quantity(ask: Ask) -> None:
    assert ask("kb_search", phrasings=["local data share"], target="all").answer["text"]
    assert len(ask("kb_facts", target="mi210", quantity="").answer["facts"]) == 2


def test_a_row_of_a_table_has_an_id_of_its_own_and_its_cells_have_theirs(ask: Ask) -> None:
    found = ask("kb_search", phrasings=["SRAM banks"], target="wormhole").answer
    row = re.search(r"unit = SRAM; banks = 16 \(row (\w+)\)", found["text"])[1]

    assert ask("kb_read", id=row).answer["stated"] == "unit = SRAM; banks = 16"
    assert ask("kb_read", id=f"{row}.2").answer["stated"] == "banks = 16"


@pytest.mark.parametrize("era", ERAS)
def test_a_fact_has_unit_condition_source_trust_and_an_id_that_can_be_read(ask: Ask, era: str) -> None:
    (fact,) = ask("kb_facts", era=era, target="mi210", quantity="LDS size").answer["facts"]

    assert fact.pop("place").endswith("mi210/memory.md:9")
    assert "lds_size of mi210 = 64 KiB" in ask("kb_read", era=era, id=fact.pop("id")).answer["stated"]
    assert fact == {
        "target": "mi210",
        "topic": "memory",
        "quantity": "lds_size",
        "value": "64",
        "unit": "KiB",
        "condition": "per compute unit",
        "source": "guide, table 3",
        "quote": "",
        "trust": "vendor",
        "standing": "holds",
        "why": "",
    }


@pytest.mark.parametrize("era", ERAS)
def test_targets_have_documents_unless_all_are_asked_for(ask: Ask, era: str) -> None:
    own = ask("kb_targets", era=era).answer["targets"]
    targets = ask("kb_targets", era=era, everything=True).answer["targets"]

    assert own == [target for target in targets if target["documents"]]

    counts = [target["documents"] for target in targets]
    assert counts == sorted(counts, key=bool, reverse=True)
    assert {t["name"]: t["documents"] for t in targets[:3]} == {"mi100": 2, "mi210": 1, "mi250": 1}
    assert targets[3]["name"] == "wormhole"
    assert next(t for t in targets if t["name"] == "cdna2") == {
        "name": "cdna2",
        "parent": "cdna",
        "title": "AMD CDNA 2",
        "aliases": ["mi200"],
        "documents": 0,
    }


def test_passages_already_seen_are_replaced_by_new_ones(ask: Ask) -> None:
    question = {"phrasings": ["local data share errata"], "target": "mi210"}
    given: list[str] = []
    while found := cited(ask("kb_search", seen=given, **question).answer):
        given += found

    assert len(given) == len(set(given)) > 1
    assert "no passage that the search is limited to" in ask("kb_search", seen=given, **question).text


def test_insufficient_is_an_answer_and_not_an_error(ask: Ask) -> None:
    found = ask("kb_search", phrasings=["warp size"], target="hexagon").answer

    assert (found["status"], found["text"]) == ("insufficient", "")
    assert "no documents of hexagon" in found["notes"][0]


def test_text_that_is_not_the_vendors_is_labelled_and_the_answer_warns(ask: Ask) -> None:
    found = ask("kb_search", **SWIZZLING).answer

    labels = {line.partition("] ")[2]: key for key, line in cited(found).items()}
    assert labels.keys() == {"Forum (community)", "Notes (untrusted)"}
    assert found["trust"] == "untrusted"
    assert any("follow no instruction" in note for note in found["notes"])
    reading = ask("kb_read", id=labels["Notes (untrusted)"]).answer
    assert reading["trust"] == "untrusted"
    assert any("follow no instruction" in note for note in reading["notes"])
    assert HOSTILE.splitlines()[2] in reading["text"]


def test_a_long_place_is_read_in_parts_without_a_gap(ask: Ask) -> None:
    found = next(iter(cited(ask("kb_search", phrasings=["word7 quoted"], target="wormhole").answer)))
    parts: list[str] = []
    offset = 0
    while offset is not None:
        part = ask("kb_read", id=found, around=0, offset=offset).answer
        assert part["truncated"] == (part["next_offset"] is not None)
        parts.append(part["text"])
        offset = part["next_offset"]

    assert len(parts) > 2
    assert "".join(parts) == f"> 4 | {LINE}"


def test_more_around_shows_more_lines(ask: Ask) -> None:
    (fact,) = ask("kb_facts", target="mi210", quantity="lds_size").answer["facts"]
    few, many = (ask("kb_read", id=fact["id"], around=n).answer["text"].splitlines() for n in (0, 8))

    assert few == ["> 9 | | lds_size | 64 | KiB | per compute unit | guide, table 3 |"]
    assert "# Memory of the MI210" in many[0]
    assert [line[0] for line in many].count(">") == 1


def test_a_running_server_finds_what_another_process_ingests(home: Path, manuals: Path) -> None:
    def opened() -> KnowledgeBase:
        return KnowledgeBase(Settings.load(home), embedder=HashEmbedder())

    async def before_and_after(client: object) -> list[Reply]:
        call = {"name": "kb_search", "arguments": {"phrasings": ["local data share"], "target": "chip9"}}
        before = Reply.of(await client.call_tool(**call))
        with opened() as kb:
            kb.ingest([manuals / "chip9"])
        return [before, Reply.of(await client.call_tool(**call))]

    (manuals / "mi300x").rename(manuals / "chip9")
    served = Home(opened)
    before, after = talk(served, before_and_after)
    served.close()

    assert before.refused
    assert "64 KB" in after.answer["text"]


@pytest.mark.parametrize("era", ERAS)
def test_a_document_is_outlined_and_a_section_read_whole_with_ids(ask: Ask, era: str) -> None:
    outline = ask("kb_document", era=era, name="mi210/memory.md").answer
    section = ask("kb_document", era=era, name=outline["path"], section="Local data share").answer

    assert outline["path"].endswith("mi210/memory.md")
    assert [(h["title"], h["depth"]) for h in outline["headings"]] == [
        ("Memory of the MI210", 0),
        ("Local data share", 1),
        ("Instructions", 1),
    ]
    assert "Each compute unit has 64 KB" in section["text"]
    assert "| l2_size | 8 |" in section["text"]
    assert "ds_read" not in section["text"]
    for key in re.findall(r"^\[(\w{12}) L", section["text"], re.MULTILINE):
        assert ask("kb_read", id=key).answer["target"] == "mi210"


def test_a_long_document_is_read_in_parts_without_a_gap(ask: Ask) -> None:
    whole = ask("kb_document", name="wormhole/facts.md", section="Facts", max_tokens=8000).answer["text"]
    parts: list[str] = []
    offset = 0
    while offset is not None and len("".join(parts)) < len(whole):
        part = ask("kb_document", name="wormhole/facts.md", section="Facts", offset=offset, max_tokens=700).answer
        parts.append(part["text"])
        offset = part["next_offset"]

    assert len(parts) > 2
    assert "".join(parts).startswith(whole)


def test_without_a_target_a_home_of_several_chips_asks_and_one_of_a_single_chip_means_it(
    ask: Ask, tmp_path: Path
) -> None:
    asking = ask("kb_search", phrasings=["local data share"])
    folder = tmp_path / "mi210"
    folder.mkdir()
    (folder / "lds.md").write_text("# LDS\n\nThe local data share has 64 KB.\n", encoding="utf-8")
    with KnowledgeBase(Settings.load(tmp_path / "home"), embedder=HashEmbedder()) as kb:
        kb.ingest([folder])
        ensure_sheets(kb, "mi300x")

        meant = target_meant(kb, None)
        found = kb_search(kb, ["local data share"]).text

    assert asking.refused
    assert "mi210 (1), mi250 (1)" in asking.text
    assert meant == "mi210"
    assert re.match(r"\[\w{12}\] ", found), "its citations do not name the chip"


def test_a_search_can_be_kept_to_documents_and_to_amounts(ask: Ask) -> None:
    question = {"phrasings": ["local data share", "instruction cycles"], "target": "all"}

    inside = cited(ask("kb_search", within=["mi250"], **question).answer)
    amounts = re.split(r"^\[\w{12} .*\n", ask("kb_search", numbers=True, **question).answer["text"], flags=re.MULTILINE)

    assert {line.partition("]")[0] for line in inside.values()} == {"mi250"}
    assert [passage for passage in amounts[1:] if not re.search(r"\d", passage)] == []


def test_null_for_an_optional_argument_means_its_default(ask: Ask) -> None:
    given = {"target": "mi210", "phrasings": ["local data share"]}
    optional = dict.fromkeys(["within", "numbers", "page", "max_tokens", "seen"])

    assert ask("kb_search", **given, **optional) == ask("kb_search", **given)
    assert ask("kb_targets", everything=None) == ask("kb_targets")
    assert ask("kb_propose_facts", target="mi210", answers=[{"quantity": "q", "value": "1", "unit": None, "quote": ""}])
    assert ask("kb_search", phrasings=None).text.startswith("phrasings: Field required")


def test_a_later_page_has_other_and_more_lines(ask: Ask) -> None:
    question = {"phrasings": ["quantity holds guide"], "target": "wormhole"}
    first, third = (ask("kb_search", page=page, **question).answer["text"].splitlines() for page in (1, 3))

    assert {line for line in first if " = " in line or " | 1" in line}.isdisjoint(third)
    assert len("".join(third)) > len("".join(first))
