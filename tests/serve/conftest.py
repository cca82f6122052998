"""A served home with a person of each role: asked in this process, or over a socket."""

import asyncio
import shutil
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import uvicorn
from starlette.testclient import TestClient

from kb.serve import server
from kb.serve.application import application
from kb.serve.guard import Guard
from kb.serve.lanes import Answering, Lane, lanes_of
from kb.serve.people import People, Role
from kb.settings import Settings
from kb.usecases.knowledge_base import KnowledgeBase
from tests.facts.documents import FACT_HEADER

ORIGIN = "http://127.0.0.1:8643"
UPLOAD_BYTES = 100_000
GUIDE = f"# MI300X guide\n\nA wave has 64 lanes.\n\n{FACT_HEADER}| lds_size | 64 | KiB | per compute unit | made up |\n"
SECRET = "# Roadmap of the MI300X\n\nThe unannounced part has quokkabytes of LDS.\n"


@dataclass(frozen=True)
class Team:
    settings: Settings
    tokens: dict[Role, str]
    guard: Guard
    lanes: dict[Lane, Answering]

    def headers(self, role: Role) -> dict[str, str]:
        return {"authorization": f"Bearer {self.tokens[role]}"}


@pytest.fixture(scope="session")
def stocked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a public and a private document."""
    docs, home = tmp_path_factory.mktemp("docs"), tmp_path_factory.mktemp("stocked")
    for name, text in (("open/mi300x/guide.md", GUIDE), ("closed/mi300x/roadmap.md", SECRET)):
        (docs / name).parent.mkdir(parents=True)
        (docs / name).write_text(text)
    with KnowledgeBase(Settings(home=home, embedding_model="none")) as kb:
        kb.ingest([docs / "open"])
        kb.ingest([docs / "closed"], private=True)
    return home


@pytest.fixture
def settings(stocked: Path, home: Path) -> Settings:
    shutil.copytree(stocked, home)
    return Settings(home=home, embedding_model="none")


@pytest.fixture
def team(settings: Settings) -> Iterator[Team]:
    people = People(settings.home)
    tokens = {role: people.add(f"the {role}".replace(" ", "-"), role) for role in Role}
    lanes = lanes_of(settings, lambda message: None)
    inside = application(settings, lanes, upload_bytes=UPLOAD_BYTES)
    yield Team(settings, tokens, Guard(inside, people, frozenset({ORIGIN}), is_open=False), lanes)
    for lane in lanes.values():
        lane.close()


@pytest.fixture
def client(team: Team) -> Iterator[TestClient]:
    """It sends no token by itself and follows no redirects."""
    with TestClient(team.guard, base_url=ORIGIN, follow_redirects=False) as opened:
        yield opened


@pytest.fixture
def port(team: Team) -> Iterator[int]:
    """Of the same server on a socket of loopback."""
    with server.listening_on("127.0.0.1", 0) as listening:
        port = listening.getsockname()[1]
        guard = Guard(team.guard.app, team.guard.people, frozenset({f"http://127.0.0.1:{port}"}), is_open=False)
        running = uvicorn.Server(server.config_of(guard))
        thread = threading.Thread(target=lambda: asyncio.run(running.serve(sockets=[listening])))
        thread.start()
        yield port
        running.should_exit = True
        thread.join()
