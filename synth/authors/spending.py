"""What authors cost: prices and limits of models from a table that a user can edit, and the budget of a run.

Nothing here guesses: a model that is not in the table has no price.
"""

import math
import re
import tomllib
from importlib.resources import files
from typing import Any, Self

from pydantic import Field, ValidationError

from kb.errors import SettingsError
from kb.types.base import Frozen, reason_of
from synth.authors.author import Usage

TABLE = "models.toml"
"""Ships beside this file; one in the home adds to it, and wins."""
_AMOUNT = re.compile(r"(?P<number>[\d_.]+)(?P<scale>[km]?)(?P<unit>usd|tokens)")
_SCALES = {"": 1, "k": 1_000, "m": 1_000_000}


class Price(Frozen):
    """In dollars per million tokens."""

    input: float = Field(ge=0)
    output: float = Field(ge=0)
    cache_write: float = Field(ge=0)
    cache_read: float = Field(ge=0)

    def dollars(self, usage: Usage) -> float:
        """What this usage costs."""
        return (
            usage.input_tokens * self.input
            + usage.cache_write_tokens * self.cache_write
            + usage.cache_read_tokens * self.cache_read
            + usage.output_tokens * self.output
        ) / 1e6


class Model(Frozen):
    """A model of the table."""

    context_tokens: int | None = Field(default=None, gt=0)
    output_tokens: int | None = Field(default=None, gt=0)
    """Most tokens of an answer."""
    price: Price | None = None
    """None: unknown."""
    source: str = ""
    """Where the numbers stand, and when they were read."""


class Agent(Frozen):
    """A command line that writes kernels: how it is run with its tools off."""

    run: tuple[str, ...] = Field(min_length=1)
    writable: tuple[str, ...] = ()
    """Its own files and folders that it must be able to write."""
    variables: tuple[str, ...] = ()
    """Variables of the environment that it needs, such as its key."""
    source: str = ""


class Models(Frozen):
    """The table: models by their names, agents by those of their programs."""

    model: dict[str, Model] = Field(default_factory=dict)
    agent: dict[str, Agent] = Field(default_factory=dict)

    @classmethod
    def load(cls, own: str | None, place: str) -> Self:
        """The table that ships with kb and, before it, the user's `own` text from the file `place`.

        Raises:
            SettingsError: the user's is not right.
        """
        shipped = cls.model_validate(tomllib.loads(files("synth.authors").joinpath(TABLE).read_text(encoding="utf-8")))
        try:
            users = cls.model_validate(tomllib.loads(own or ""))
        except (tomllib.TOMLDecodeError, ValidationError) as error:
            raise SettingsError(f"{place}: {reason_of(error)}", hint="see docs/authors.md for its form") from error
        return cls(
            model={**users.model, **shipped.model, **users.model}, agent={**users.agent, **shipped.agent, **users.agent}
        )


class Budget(Frozen):
    """The most that a run may spend on authors; None sets no limit."""

    dollars: float | None = Field(default=None, gt=0)
    tokens: int | None = Field(default=None, gt=0)

    @classmethod
    def parse(cls, text: str) -> Self:
        """From `2usd`, `300ktokens`, or both with a comma. Raises SettingsError if it is neither."""
        amounts: dict[str, Any] = {}
        for part in re.sub(r"\s", "", text.lower()).split(","):
            if not (match := _AMOUNT.fullmatch(part)):
                raise _no_budget(text)
            number = float(match["number"]) * _SCALES[match["scale"]] if match["number"].count(".") < 2 else 0.0
            amounts |= {"dollars": number} if match["unit"] == "usd" else {"tokens": int(number)}
        try:
            return cls(**amounts)
        except ValidationError as error:
            raise _no_budget(text) from error

    @property
    def option(self) -> str:
        """As the command line takes it, rounded up to whole cents."""
        dollars = [] if self.dollars is None else [f"{math.ceil(self.dollars * 100) / 100:.2f}usd"]
        return ",".join([*dollars, *([] if self.tokens is None else [f"{self.tokens}tokens"])])

    def __str__(self) -> str:
        dollars = [] if self.dollars is None else [f"${self.dollars:,.2f}"]
        return " and ".join([*dollars, *([] if self.tokens is None else [f"{self.tokens:,} tokens"])]) or "no limit"


def _no_budget(text: str) -> SettingsError:
    return SettingsError(f"{text!r} is no budget", hint="say 2usd, 300ktokens, or both with a comma between")
