"""Who writes kernels: reads `--author`, chooses where nothing is said, and says what it may cost at most."""

import os
import re
import shlex
import shutil
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from eval.machine import sandbox_level
from kb.errors import SettingsError
from kb.settings import Settings
from kb.tuner import VERDICTS
from kb.types.base import TOKEN_CHARACTERS, is_loopback
from kb.usecases.confinement import confined
from kb.usecases.home import Home
from synth.authors.anthropic import KEYS, AnthropicAuthor
from synth.authors.asking import Desk, Notes, Seat
from synth.authors.author import Author
from synth.authors.command import CommandAuthor
from synth.authors.files import FilesAuthor
from synth.authors.openai import KEY, OpenAIAuthor
from synth.authors.recorded import RecordedAuthor
from synth.authors.spending import TABLE, Agent, Budget, Model, Models
from synth.search.moves import WRITTEN

SHOWN_TOKENS = 10_000
"""What a prompt has beside its limit, the task's source and two kernels, is rarely more."""
NOBODY = "none"
"""The name of the author for runs of the tuner."""
HOSTED_URL = "https://api.openai.com/v1"
FORMS = "none, claude-..., anthropic:MODEL, openai:MODEL@URL, command:COMMAND, files:FOLDER, recorded:FOLDER"
_SPEC = re.compile(r"(?:(?P<share>\d+(?:\.\d+)?):)?(?:(?P<kind>anthropic|openai|command|files|recorded):)?(?P<what>.+)")
_SERVED = re.compile(r"(.+?)@(https?://.+)")
_SECRET = re.compile(r"(?:^|_)(?:API)?(?:KEY|TOKEN|SECRET|PASSWORD)S?(?:$|_)")
"""In the name of a variable."""
SECRET_CHARACTERS = 8
"""Shorter values of such variables are no keys."""


class AuthorSpec(NamedTuple):
    """An author as a user names it: `2:openai:qwen3@http://127.0.0.1:8000/v1` has two shares."""

    share: float
    kind: str
    what: str
    """The model, the command, or the folder."""
    url: str = ""
    """Of the server; empty: the service's own."""

    @classmethod
    def parse(cls, text: str) -> "AuthorSpec":
        """Raises SettingsError if it names no author, or holds a key."""
        match = _SPEC.fullmatch(text.strip())
        kind = match and (match["kind"] or ("anthropic" if match["what"].startswith("claude-") else ""))
        share = float((match and match["share"]) or 1)
        if match is None or not kind or share <= 0 or (kind == "command" and not _words(match["what"])):
            raise SettingsError(
                f"{text!r} names no author", hint=f"say one of: {FORMS}; `2:` before it gives two shares"
            )
        what, url = match["what"].strip(), ""
        if kind in ("openai", "anthropic"):
            if served := _SERVED.fullmatch(what):
                what, url = served.groups()
            if kind == "openai":
                url = url or os.environ.get("OPENAI_BASE_URL", HOSTED_URL)
        if kind in ("files", "recorded"):
            what = str(Path(what).expanduser().resolve())
        spec = cls(share, kind, what, url)
        spec._must_hold_no_key()
        return spec

    def _must_hold_no_key(self) -> None:
        parts = urlsplit(self.url)
        known = {v for name, v in os.environ.items() if _SECRET.search(name.upper()) and len(v) >= SECRET_CHARACTERS}
        if parts.username or parts.password or parts.query or any(key in self.what + self.url for key in known):
            hint = f"put it into the environment; {TABLE} in the home names the variables that a command gets"
            raise SettingsError("the name of an author holds a key, and names stand in journals", hint=hint)

    def __str__(self) -> str:
        share = "" if self.share == 1 else f"{self.share:g}:"
        return f"{share}{self.kind}:{self.what}{f'@{self.url}' if self.url else ''}"

    def is_local(self, settings: Settings) -> bool:
        """Whether nothing that it reads leaves the user's machines."""
        host = urlsplit(self.url).hostname or ""
        program = Path(_words(self.what)[0]).name if self.kind == "command" else ""
        return self.kind == "recorded" or is_loopback(self.url) or settings.is_own(self.kind, host, program)


def _words(command: str) -> tuple[str, ...]:
    """The words of a command; none if its quotes do not match."""
    try:
        return tuple(shlex.split(command))
    except ValueError:
        return ()


class AuthorChoice(NamedTuple):
    """Who writes the kernels of a run, and why."""

    specs: tuple[AuthorSpec, ...]
    """Empty: nobody, the tuner searches."""
    why: str = ""
    """What in the environment led to it; empty if the user named them."""


def chosen(settings: Settings, names: Sequence[str] = ()) -> AuthorChoice:
    """The authors with these names, else the settings', else what the environment offers.

    Raises:
        SettingsError: a name is not right, or the folder or command that it names is not here.
    """
    if given := list(names) or ([settings.author] if settings.author else []):
        specs = tuple(AuthorSpec.parse(name) for name in given if name != NOBODY)
        if NOBODY in given and specs:
            raise SettingsError("`--author none` and another author were given", hint="give one or the other")
        for spec in specs:
            _must_be_here(models_of(settings), spec)
        return AuthorChoice(specs, "" if names else "the setting `author`")
    table = models_of(settings)
    claude = next((name for name in table.model if name.startswith("claude-")), None)
    for key in KEYS:
        if os.environ.get(key) and claude:
            return AuthorChoice((AuthorSpec.parse(claude),), key)
    if (model := os.environ.get("OPENAI_MODEL")) and (os.environ.get("OPENAI_BASE_URL") or os.environ.get(KEY)):
        return AuthorChoice((AuthorSpec.parse(f"openai:{model}"),), "OPENAI_MODEL")
    for name, agent in table.agent.items() if sandbox_level() > 1 else ():
        if shutil.which(agent.run[0]):
            return AuthorChoice((AuthorSpec.parse(f"command:{name}"),), f"the command {agent.run[0]}")
    return AuthorChoice(())


def _must_be_here(table: Models, spec: AuthorSpec) -> None:
    if spec.kind == "recorded" and not Path(spec.what).is_dir():
        raise SettingsError(f"there is no folder {spec.what}", hint="recorded:FOLDER names a folder of answers")
    if spec.kind == "command":
        program = (table.agent.get(spec.what) or Agent(run=_words(spec.what))).run[0]
        if not shutil.which(program):
            raise SettingsError(f"there is no command {program}", hint="install it, or name another author")


def models_of(settings: Settings) -> Models:
    """The table of models and agents. Raises SettingsError if the user's is not right."""
    file = settings.home / TABLE
    try:
        own = file.read_text(encoding="utf-8") if file.exists() else None
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"cannot read {file}: {error}", hint="correct the file or remove it") from error
    return Models.load(own, str(file))


def seats_of(settings: Settings, specs: Sequence[AuthorSpec], *, run: str = "") -> list[Seat]:
    """The authors of a run.

    Args:
        run: Id of the run, for authors that keep files of their own.

    Raises:
        SettingsError: two have the same name, or the table is not right.
    """
    table, seats = models_of(settings), list[Seat]()
    for spec in specs:
        model = table.model.get(spec.what, Model())
        free = spec.kind in ("files", "recorded") or (spec.is_local(settings) and model.price is None)
        seats.append(Seat(_author(settings, table, spec, run), model, spec.share, free))
    names = [seat.author.name for seat in seats]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise SettingsError(f"the author {twice} is named twice", hint="name it once, with a share: 2:AUTHOR")
    return seats


def _author(settings: Settings, table: Models, spec: AuthorSpec, run: str) -> Author:
    match spec.kind:
        case "anthropic":
            return AnthropicAuthor(spec.what, spec.url or None)
        case "openai":
            return OpenAIAuthor(spec.what, spec.url)
        case "files":
            return FilesAuthor(Path(spec.what) / run)
        case "recorded":
            return RecordedAuthor(Path(spec.what))
    agent = table.agent.get(spec.what) or Agent(run=_words(spec.what))
    confine = partial(confined, settings.home, writable=agent.writable, time_s=CommandAuthor.time_s)
    return CommandAuthor(agent.run, confine, agent.variables)


def most_for(settings: Settings, seats: Sequence[Seat], requests: int) -> Budget:
    """The most that so many requests may cost: in dollars if every price is known, else in tokens."""
    sent_bytes = (settings.prompt_tokens + SHOWN_TOKENS) * TOKEN_CHARACTERS
    paid = [seat.most(sent_bytes, seat.output_tokens) for seat in seats if not seat.free]
    if any(one.dollars is None for one in paid):
        return Budget(tokens=requests * max(one.usage.total for one in paid))
    return Budget(dollars=requests * max((one.dollars or 0.0 for one in paid), default=0.0) or None)


def requests_for(evaluations: int | None) -> int:
    """How many a run takes if each structure has its settings judged, which cost no request."""
    return -(-(evaluations or WRITTEN) // VERDICTS)


def open_to(home: Home, specs: Sequence[AuthorSpec]) -> Home:
    """The home as authors may read it: without private documents if one may carry them off the user's machines."""
    return home if all(spec.is_local(home.settings) for spec in specs) else home.public


def held_back(seen: Home, target: str) -> int:
    """Tell the user which private documents about a target authors do not get, who read `seen`; their number."""
    if paths := seen.catalog.held_back(seen.targets.scope(target)):
        seen.notify(f"no author gets what is private: {', '.join(paths)}")
    return len(paths)


def desk_for(home: Home, names: Sequence[str], budget: Budget) -> tuple[Home, Desk]:
    """For questions outside of a run: the home as the authors may read it, and their desk.

    Raises:
        SettingsError: there is no author, or it costs money that no budget allows.
    """
    specs = chosen(home.settings, names).specs
    if not specs:
        raise SettingsError("nobody is here to ask", hint=f"name an author, --author or `author` in kb.toml: {FORMS}")
    seats = seats_of(home.settings, specs)
    must_be_paid(seats, budget)
    return open_to(home, specs), Desk(seats, Notes(), budget)


def must_be_paid(seats: Sequence[Seat], budget: Budget) -> None:
    """Raises SettingsError if an author costs money and the user has set no limit that kb can keep."""
    for seat in seats:
        if seat.free or budget.tokens is not None:
            continue
        if seat.model.price is None:
            raise SettingsError(
                f"the price of {seat.author.name} is unknown, so a budget in tokens is needed",
                hint=f"--budget 300ktokens, or state its price in {TABLE} of the home",
            )
        if budget.dollars is None:
            hint = "--budget 2usd allows it to spend that much; --author none costs nothing"
            raise SettingsError(f"{seat.author.name} costs money, and no budget allows it", hint=hint)
