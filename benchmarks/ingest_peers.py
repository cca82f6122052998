"""The job of `kb ingest` in LlamaIndex and LangChain: read files, split them, embed the pieces, store everything.

    python benchmarks/ingest_peers.py LlamaIndex ORDER OUT

It runs without kb in the peers' environment, which `ingest_job.py` describes. ORDER is a JSON file with `files` and the
folders `model` and `store`. The embedded texts and the versions are written to OUT. Each peer is called as its
documentation shows, with its defaults.
"""

import json
import sys
from importlib.metadata import version
from pathlib import Path

CHUNK_CHARACTERS, OVERLAP_CHARACTERS = 1000, 200
VERSIONS = {
    "LlamaIndex": ("llama-index-core", "llama-index-readers-file", "llama-index-embeddings-huggingface"),
    "LangChain": ("langchain-community", "langchain-text-splitters", "langchain-huggingface", "langchain-chroma"),
}
BELOW = ("torch", "sentence-transformers", "transformers", "chromadb")


def llama_index(files: list[str], model: str, store: str) -> tuple[int, list[str]]:
    from llama_index.core import SimpleDirectoryReader, VectorStoreIndex
    from llama_index.core.node_parser import SentenceSplitter
    from llama_index.core.schema import MetadataMode
    from llama_index.embeddings.huggingface import HuggingFaceEmbedding

    documents = SimpleDirectoryReader(input_files=files).load_data()
    embedding = HuggingFaceEmbedding(model_name=model, device="cpu")
    index = VectorStoreIndex.from_documents(documents, embed_model=embedding, transformations=[SentenceSplitter()])
    index.storage_context.persist(store)
    texts = [node.get_content(metadata_mode=MetadataMode.EMBED) for node in index.docstore.docs.values()]
    return len({d.metadata["file_path"] for d in documents}), texts


def langchain(files: list[str], model: str, store: str) -> tuple[int, list[str]]:
    from langchain_chroma import Chroma
    from langchain_community.document_loaders import PyPDFLoader, TextLoader
    from langchain_huggingface import HuggingFaceEmbeddings
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    loaders = [PyPDFLoader(f) if f.lower().endswith(".pdf") else TextLoader(f, encoding="utf-8") for f in files]
    documents = [document for loader in loaders for document in loader.load()]
    splitter = RecursiveCharacterTextSplitter(chunk_size=CHUNK_CHARACTERS, chunk_overlap=OVERLAP_CHARACTERS)
    pieces = splitter.split_documents(documents)
    embedding = HuggingFaceEmbeddings(
        model_name=model, model_kwargs={"device": "cpu"}, encode_kwargs={"normalize_embeddings": True}
    )
    Chroma.from_documents(pieces, embedding, persist_directory=store)
    return len({d.metadata["source"] for d in documents}), [piece.page_content for piece in pieces]


JOBS = {"LlamaIndex": llama_index, "LangChain": langchain}


def main() -> None:
    name, order, out = sys.argv[1:]
    documents, texts = JOBS[name](**json.loads(Path(order).read_text(encoding="utf-8")))
    versions = {package: version(package) for package in (*VERSIONS[name], *BELOW)}
    result = {"documents": documents, "texts": texts, "versions": versions}
    Path(out).write_text(json.dumps(result), encoding="utf-8")


if __name__ == "__main__":
    main()
