"""The page over a home of the test's own, asked in this process."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from kb.settings import Settings
from kb.usecases.knowledge_base import KnowledgeBase
from kb.usecases.opened import Opened
from kb.web import guard
from kb.web.server import application
from tests.conftest import HashEmbedder

TOKEN = "the token of this process"
ORIGIN = "http://127.0.0.1:8642"


@pytest.fixture
def browser(home: Path, embedder: HashEmbedder, monkeypatch: pytest.MonkeyPatch) -> Iterator[TestClient]:
    """A browser that follows no redirects and sends the page's origin with what it posts; it makes no connection."""
    monkeypatch.setattr(guard, "CONNECTIONS", {})
    with closing(Opened(lambda: KnowledgeBase(Settings.load(home), embedder=embedder))) as opened:
        app = application(opened, token=TOKEN)
        yield TestClient(app, base_url=ORIGIN, headers={"origin": ORIGIN}, follow_redirects=False)
