"""`kb facts`: what holds of a target on a screen and as JSON, what does not, and what a person decides about it."""

import json
import re
from pathlib import Path

import pytest

from tests.cli.conftest import FACT_HEADER, Run

TEXTS = {
    "cdna2/family.md": f"# Family\n\n{FACT_HEADER}| wavefront_size | 66 | lane |  | guide, 2.1 |\n",
    "mi210/sheet.md": (
        f"# Chip\n\n{FACT_HEADER}| lds_size | 65 | KiB | per compute unit | guide, 3 |\n"
        "| l2_size | 11 | MiB | per device | guide, 4 |\n| l2_size | 2 | MiB | per die | guide, 4 |\n"
        "| peak_flops | 301 | TFLOPS | float16, dense, matrix, per device | guide, 5 |\n"
        "| peak_flops | 602 | TFLOPS | float16, sparse, matrix, per device | guide, 5 |\n"
        "| peak_flops | 603 | TFLOPS | int8, dense, matrix, per device | guide, 5 |\n"
    ),
    "mi210/notes.md": "# Notes\n\n| Chip | L3 cache (MB) |\n|---|---|\n| MI210 | 8 |\n",
    "mi210/other.md": "# Other notes\n\n| Chip | L3 cache (MB) |\n|---|---|\n| MI210 | 9 |\n",
    "mi210/words.md": "# Words\n\nIn general it is fast.\n\nThe LDS has 34 banks.\n",
    "mi250/sheet.md": (
        f"# Sibling\n\n{FACT_HEADER}| lds_size | 97 | KiB | per compute unit | guide, 3 |\n"
        "| power_max | 777 | W |  | guide, 6 |\n"
    ),
}


@pytest.fixture
def facts(run: Run, tmp_path: Path) -> Path:
    """Manuals of two siblings that state facts and contradict each other; a reader answered from one of them."""
    root = tmp_path / "manuals"
    for name, text in TEXTS.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    assert run("ingest", root).status == 0
    answer(run, root, quantity="lds_banks", value="34", quote="The LDS has 34 banks")
    return root


def answer(run: Run, root: Path, **said: str) -> None:
    file = root.with_name("answers.jsonl")
    file.write_text(json.dumps(said), encoding="utf-8")
    assert run("facts", "answer", "mi210", file).status == 0


def id_of(run: Run, quantity: str, value: str) -> str:
    """Of a fact of the MI210, whether it holds or not."""
    [key] = [
        fact["id"]
        for fact in run("facts", "mi210", quantity, "--all", "--json").json["facts"]
        if fact["value"] == value
    ]
    return str(key)


def values(run: Run, *arguments: str) -> list[str]:
    return [fact["value"] for fact in run("facts", *arguments, "--json").json["facts"]]


@pytest.mark.parametrize("arguments", [["mi210"], ["mi210", "LDS"], ["MI-210", "--json"], ["mi210", "--all"]])
def test_the_word_show_may_be_omitted(run: Run, facts: Path, arguments: list[str]) -> None:
    short, whole = run("facts", *arguments), run("facts", "show", *arguments)

    assert short == whole
    assert (short.status, short.err) == (0, "")


def test_the_text_names_each_value_with_its_unit_its_condition_its_id_and_where_it_is_stated(
    run: Run, facts: Path
) -> None:
    outcome = run("facts", "mi210", "lds_size")

    [row] = [line for line in outcome.out.splitlines() if line.startswith("lds_size")]
    assert row.split() == ["lds_size", "65", "KiB", "per", "compute", "unit", id_of(run, "lds_size", "65")]
    assert "stated in mi210/sheet.md" in outcome.out


def test_an_inherited_value_is_marked(run: Run, facts: Path) -> None:
    shown = run("facts", "mi210", "wavefront_size").out

    assert "[cdna2]" in next(line for line in shown.splitlines() if line.startswith("wavefront_size"))
    assert "[cdna2]: inherited from cdna2" in shown
    assert "inherited from" not in run("facts", "cdna2").out


def test_trust_is_shown_only_if_it_is_not_the_vendors(run: Run, facts: Path) -> None:
    note = facts / "mi210" / "blog.md"
    note.write_text(f"# Blog\n\n{FACT_HEADER}| power_max | 301 | W |  | blog |\n", encoding="utf-8")
    run("ingest", note, "--target", "mi210", "--trust", "community")

    rows = run("facts", "mi210").out.splitlines()

    assert [line for line in rows if "vendor" in line] == []
    assert [line.split()[:4] for line in rows if "[community]" in line] == [["power_max", "301", "W", "[community]"]]


def test_facts_stand_under_the_topics_of_the_worksheet_and_a_count_has_no_unit(run: Run, facts: Path) -> None:
    run("facts", "accept", id_of(run, "lds_banks", "34"))

    lines = run("facts", "mi210").out.splitlines()

    # A blank line stands before each heading.
    assert [lines[i + 1] for i, line in enumerate(lines) if not line][:-1] == ["execution", "memory", "rates"]
    assert next(line for line in lines if line.startswith("lds_banks")).split()[:2] == ["lds_banks", "34"]
    assert not re.search(r"^lds_banks +34 1 ", "\n".join(lines), re.MULTILINE)
    assert "memory" not in run("facts", "mi210", "lds_size").out.splitlines()


def test_json_has_each_fact_with_its_place_its_trust_and_its_source_or_else_its_quote(run: Run, facts: Path) -> None:
    [fact] = run("facts", "mi210", "lds_size", "--json").json["facts"]
    run("facts", "accept", id_of(run, "lds_banks", "34"))
    [answered] = run("facts", "mi210", "lds_banks", "--json").json["facts"]

    assert (fact["target"], fact["value"], fact["unit"]) == ("mi210", "65", "KiB")
    assert (fact["trust"], fact["standing"], fact["source"]) == ("vendor", "holds", "guide, 3")
    assert (fact["place"], fact["quote"]) == ("mi210/sheet.md:5", "")
    assert (answered["source"], answered["quote"]) == ("", "The LDS has 34 banks")


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        (["peak_flops"], ["301", "602", "603"]),
        (["peak_flops", "--dtype", "float16"], ["301", "602"]),
        (["peak_flops", "--dense"], ["301", "603"]),
        (["peak_flops", "--sparse"], ["602"]),
        (["peak_flops", "--dtype", "int8", "--dense"], ["603"]),
        (["l2_size"], ["11", "2"]),
        (["l2_size", "--per", "device"], ["11"]),
        (["l2_size", "--per", "die"], ["2"]),
        (["lds_size", "--per", "compute unit"], ["65"]),
        (["lds_banks"], []),
    ],
)
def test_options_choose_the_condition(run: Run, facts: Path, options: list[str], shown: list[str]) -> None:
    if shown:
        assert values(run, "mi210", *options) == shown
    else:
        assert run("facts", "mi210", *options).status == 1


@pytest.mark.parametrize(
    ("arguments", "said", "advised"),
    [
        (["mi21O"], "unknown target 'mi21O'", "mi210"),
        (["show", "mi21O", "lds_size"], "unknown target 'mi21O'", "mi210"),
        (["mi210", "lds_sice"], "'lds_sice' of mi210", "lds_size"),
        (["mi210", "power_max"], "'power_max' of mi210", "mi250, whose value is not mi210's"),
        (["mi210", "l3_size"], "'l3_size' of mi210 that holds", "--all` shows 2: conflict"),
        (["mi210", "lds_banks"], "that holds", "--all` shows 1: unconfirmed"),
        (["mi210", "peak_flops", "--dtype", "float64"], "for float64", "float16, dense, matrix"),
        (["mi210", "--dtype", "float16"], "needs a quantity", "name the quantity"),
        (["conflicts", "mi21O"], "unknown target 'mi21O'", "mi210"),
        (["hexagon"], "facts of hexagon", "ingest"),
        (["accept", "000000000000"], "'000000000000'", "kb facts"),
        (["reject", "000000000000"], "'000000000000'", "kb facts"),
        (["reopen", "000000000000"], "'000000000000'", "kb facts"),
    ],
)
def test_a_refusal_is_one_error_and_one_hint_on_stderr_and_status_1(
    run: Run, facts: Path, arguments: list[str], said: str, advised: str
) -> None:
    message, hint = run("facts", *arguments).refusal

    assert said in message
    assert advised in hint
    assert "777" not in message + hint


@pytest.mark.parametrize("arguments", [["accept"], ["mi210", "lds_size", "more"], ["show"]])
def test_wrong_usage_is_status_2(run: Run, facts: Path, arguments: list[str]) -> None:
    outcome = run("facts", *arguments)

    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.err


def test_all_shows_also_what_does_not_hold_and_why(run: Run, facts: Path) -> None:
    found = {
        (fact["quantity"], fact["value"]): fact["standing"]
        for fact in run("facts", "mi210", "--all", "--json").json["facts"]
    }

    assert found[("l3_size", "8")] == found[("l3_size", "9")] == "conflict"
    assert found[("lds_banks", "34")] == "unconfirmed"
    assert found[("lds_size", "65")] == "holds"
    shown = run("facts", "mi210", "LDS banks", "--all").out
    assert "unconfirmed" in shown
    assert "34" in shown


def test_facts_that_are_not_confirmed_are_counted(run: Run, facts: Path) -> None:
    shown = run("facts", "mi210").out
    waiting = {"unconfirmed", "ambiguous", "conflict"}
    unconfirmed = [f for f in run("facts", "mi210", "--all", "--json").json["facts"] if f["standing"] in waiting]

    assert f"\n`kb facts mi210 --all` shows {len(unconfirmed)} more, which wait for a decision\n" in shown
    assert "unconfirmed" not in run("facts", "mi210", "lds_size").out


def test_all_of_an_unknown_quantity_is_refused_too(run: Run, facts: Path) -> None:
    assert run("facts", "mi210", "voltage", "--all").status == 1


@pytest.mark.parametrize("options", [["--sparse"], ["--dtype", "float64"]], ids=" ".join)
def test_all_obeys_or_refuses_the_other_options(run: Run, facts: Path, options: list[str]) -> None:
    whole, chosen = (run("facts", "mi210", "peak_flops", "--all", "--json", *more) for more in ([], options))

    assert whole.status == 0
    assert chosen.status != 0 or chosen.out != whole.out


def test_conflicts_show_both_sides_with_their_citations(run: Run, facts: Path) -> None:
    outcome = run("facts", "conflicts", "mi210")

    assert outcome.status == 0
    assert "mi210 l3_size: to decide, open" in outcome.out
    for value, name in (("8", "notes.md"), ("9", "other.md")):
        assert f"{value} MB" in outcome.out
        assert f"mi210/{name}:" in outcome.out
        assert id_of(run, "l3_size", value) in outcome.out
    assert run("facts", "conflicts").out == outcome.out
    assert "l3_size" not in run("facts", "conflicts", "mi250").out


def test_conflicts_as_json_hold_both_facts(run: Run, facts: Path) -> None:
    [conflict] = run("facts", "conflicts", "mi210", "--json").json

    assert (conflict["target"], conflict["quantity"]) == ("mi210", "l3_size")
    assert {(side["value"], side["standing"]) for side in conflict["sides"]} == {("8", "conflict"), ("9", "conflict")}


@pytest.mark.parametrize(("command", "of"), [("accept", "9"), ("reject", "8")])
def test_a_decision_lets_one_value_hold_until_it_is_opened_again(run: Run, facts: Path, command: str, of: str) -> None:
    key = id_of(run, "l3_size", of)

    outcome = run("facts", command, key, "--reason", "seen on the chip")

    assert (outcome.status, outcome.err) == (0, "")
    assert outcome.out.startswith(f"{command}ed: mi210 l3_size = {of} MB (per device) [{key}] mi210/")
    assert values(run, "mi210", "l3_size") == ["9"]
    assert "open\n" not in run("facts", "conflicts", "mi210").out
    assert run("facts", "reopen", key).out.startswith("open again: mi210 l3_size")
    assert run("facts", "mi210", "l3_size").status == 1


def test_an_answer_that_is_accepted_holds(run: Run, facts: Path) -> None:
    run("facts", "accept", id_of(run, "lds_banks", "34"))

    assert values(run, "mi210", "lds_banks") == ["34"]


@pytest.mark.parametrize(("quantity", "value"), [("l3_size", "8"), ("lds_banks", "34"), ("lds_size", "65")])
def test_cite_opens_the_line_of_a_fact_whether_it_holds_or_not(
    run: Run, facts: Path, quantity: str, value: str
) -> None:
    shown = run("cite", id_of(run, quantity, value))

    assert shown.status == 0
    assert [line for line in shown.out.splitlines() if line.startswith(">") and value in line]


def test_decisions_are_exported_and_imported_and_what_is_left_out_has_status_1(
    run: Run, facts: Path, tmp_path: Path
) -> None:
    file = tmp_path / "decisions.jsonl"
    key = id_of(run, "l3_size", "9")
    run("facts", "accept", key, "--reason", "seen")

    assert run("facts", "export", str(file)).out == f"written: {file}: 1 decision\n"
    assert run("facts", "export", "-").out == file.read_text()
    run("facts", "reopen", key)
    assert "taken over: accepted: mi210 l3_size = 9 MB" in run("facts", "import", str(file)).out
    assert run("facts", "import", str(file), "--json").json[0]["outcome"] == "known"
    run("facts", "reject", key, "--reason", "no")
    refused = run("facts", "import", str(file))
    assert (refused.status, "] is rejected 20" in refused.out) == (1, True)
    assert "rejected" in run("facts", "mi210", "l3_size", "--all").out
