"""The page over a home of the test's own, asked in this process."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from kb.settings import Settings
from kb.usecases.knowledge_base import KnowledgeBase
from kb.usecases.opened import Opened
from kb.web.server import application
from tests.conftest import HashEmbedder

TOKEN = "the token of this process"
ORIGIN = "http://127.0.0.1:8642"


@pytest.fixture
def browser(home: Path, embedder: HashEmbedder) -> Iterator[TestClient]:
    """A browser that follows no redirects and sends the page's origin with what it posts."""
    with closing(Opened(lambda: KnowledgeBase(Settings.load(home), embedder=embedder))) as opened:
        app = application(opened, token=TOKEN)
        yield TestClient(app, base_url=ORIGIN, headers={"origin": ORIGIN}, follow_redirects=False)
