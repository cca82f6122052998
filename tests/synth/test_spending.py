"""Prices come from a table that a user can edit; a budget is said in one word."""

import pytest

from kb.errors import SettingsError
from synth.authors.author import Usage
from synth.authors.spending import Budget, Models


@pytest.mark.parametrize(
    ("text", "budget", "shown"),
    [
        ("2usd", Budget(dollars=2), "$2.00"),
        ("0.5 USD", Budget(dollars=0.5), "$0.50"),
        ("300ktokens", Budget(tokens=300_000), "300,000 tokens"),
        ("1.5m tokens", Budget(tokens=1_500_000), "1,500,000 tokens"),
        ("2usd,300ktokens", Budget(dollars=2, tokens=300_000), "$2.00 and 300,000 tokens"),
    ],
)
def test_a_budget_is_read_and_shown(text: str, budget: Budget, shown: str) -> None:
    assert (Budget.parse(text), str(budget)) == (budget, shown)
    assert Budget.parse(budget.option) == budget


@pytest.mark.parametrize(
    "text", ["", "2", "$2", "usd", "0usd", "-1usd", "1..5usd", "1.2.3usd", "2eur", "2usd,", "tokens", "0tokens"]
)
def test_what_is_no_budget_is_refused(text: str) -> None:
    with pytest.raises(SettingsError, match="is no budget"):
        Budget.parse(text)


def test_every_shipped_model_has_a_price_with_its_source_and_every_agent_a_way_to_run() -> None:
    shipped = Models.load(None, "")

    assert shipped.model
    assert all(m.price and m.context_tokens and m.output_tokens and m.source for m in shipped.model.values())
    assert all(a.run and a.source for a in shipped.agent.values())


def test_the_users_table_adds_to_the_shipped_one_and_wins() -> None:
    own = """
    [model.qwen3]
    context_tokens = 32768
    [model."claude-opus-5-5"]
    price = { input = 1, output = 2, cache_write = 3, cache_read = 4 }
    """
    models = Models.load(own, "models.toml").model

    assert models["qwen3"].price is None
    price = models["claude-opus-5-5"].price
    assert price
    usage = Usage(input_tokens=1000, output_tokens=1000, cache_write_tokens=1000, cache_read_tokens=1000)
    assert price.dollars(usage) == pytest.approx(0.010)
    assert "claude-sonnet-5-5" in models
    assert next(iter(models)) == "qwen3", "the user's come first"


@pytest.mark.parametrize(
    "own", ["[model", "[model.x]\nprices = 1", "[model.x]\nprice = { input = -1 }", "[agent.a]\nrun = []"]
)
def test_a_table_that_is_not_right_is_refused_by_its_place(own: str) -> None:
    with pytest.raises(SettingsError, match=r"/home/models\.toml: "):
        Models.load(own, "/home/models.toml")
