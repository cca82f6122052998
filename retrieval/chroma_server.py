"""The vector index of a large home on a Chroma server, which gets ids, vectors and targets of passages, and no text."""

import platform
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from uuid import UUID

from kb.errors import StoreError
from kb.settings import Settings
from kb.types.base import is_loopback
from kb.types.records import text_digest
from retrieval.chroma_index import Folders, chroma_errors

if TYPE_CHECKING:
    from chromadb.api.collection_configuration import CreateCollectionConfiguration
    from chromadb.api.fastapi import FastAPI
    from chromadb.api.models.Collection import Collection as ChromaCollection

ANSWER_S, WRITE_S = 2.0, 120.0
"""Most seconds that kb waits for an answer to a question, and for each batch of vectors to be written."""


def kept_by(settings: Settings, wait_s: float = ANSWER_S) -> Folders:
    """What keeps the index of a home with these settings."""
    return Server(settings, wait_s) if settings.chroma_url else Folders(settings.home)


class Server(Folders):
    """Keeps each generation of the index in a collection of its own on a Chroma server."""

    def __init__(self, settings: Settings, wait_s: float) -> None:
        self._settings, self._wait_s = settings, wait_s
        self.root = settings.chroma_url.rpartition("@")[2]
        self.prefix = f"kb-{text_digest(f'{platform.node()} {settings.home}')[:12]}-"

    def open(self, name: str, checksum: str) -> "ChromaCollection":
        from chromadb.api.models.Collection import Collection

        return Collection(self._api, self._api.get_collection_by_id(UUID(checksum)), embedding_function=None)

    @contextmanager
    def made(self, name: str, configuration: "CreateCollectionConfiguration") -> Iterator["ChromaCollection"]:
        yield self.open(name, str(self._api.create_collection(name, configuration=configuration).id))

    def checksum(self, name: str) -> str:
        """The id that the server gave the collection: no other has it."""
        return str(self._api.get_collection(name).id)

    def remove_all_but(self, names: Collection[str]) -> None:
        with suppress(StoreError), chroma_errors(self.prefix):
            for name in {collection.name for collection in self._api.list_collections()} - {*names}:
                if name.startswith(self.prefix):
                    self._api.delete_collection(name)

    @cached_property
    def _api(self) -> "FastAPI":
        import httpx
        from chromadb.api.fastapi import FastAPI
        from chromadb.config import Settings, System

        url = self._settings.chroma_url
        address, near = urlsplit(url), is_loopback(url)
        if address.scheme != "https" and not near and not self._settings.is_own(address.hostname or ""):
            raise ValueError("it is on another machine, where only https or a host of `local_authors` gets vectors")
        api = FastAPI(System(Settings(anonymized_telemetry=False, chroma_server_host=url, chroma_server_http_port=0)))
        # Chroma would wait without limit, reach this machine through a proxy, and leave connections open.
        once, headers = httpx.Limits(max_keepalive_connections=0), api.get_request_headers()
        api._session = httpx.Client(timeout=self._wait_s, trust_env=not near, headers=headers, limits=once)  # noqa: SLF001
        return api
