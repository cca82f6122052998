"""Signatures of evidence by `ssh-keygen -Y`, in the format that git uses for commits."""

import subprocess
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory

from kb.errors import SkillError

NAMESPACE = "kb-evidence"
SECONDS = 20


def sign(text: str, key: Path) -> str:
    """The signature of `text` by a private key, or by the agent that holds the private part of a public key.

    Raises:
        SkillError: the key cannot sign.
    """
    try:
        return _ssh_keygen("sign", "-f", str(key), "-n", NAMESPACE, text=text)
    except (OSError, subprocess.SubprocessError) as error:
        said = getattr(error, "stderr", "") or error
        hint = "set KB_SIGNING_KEY to a key without a passphrase, or to the public part of a key that ssh-agent holds"
        raise SkillError(f"evidence cannot be signed with {key}: {said}".strip(), hint=hint) from error


@lru_cache(maxsize=4096)
def signer(text: str, signature: str, allowed: str) -> str:
    """Who signed `text`, by the content of an allowed signers file; empty if it is no one in it."""
    with TemporaryDirectory() as folder:
        signed, signers = Path(folder, "signature"), Path(folder, "allowed_signers")
        signed.write_text(signature, encoding="utf-8")
        signers.write_text(allowed, encoding="utf-8")
        files = ("-s", str(signed), "-f", str(signers))
        try:
            found = _ssh_keygen("find-principals", *files, text="")
            name = found.splitlines()[0].split(",")[0]
            _ssh_keygen("verify", *files, "-n", NAMESPACE, "-I", name, text=text)
        except (OSError, subprocess.SubprocessError, IndexError):
            return ""
        return name


def _ssh_keygen(*arguments: str, text: str) -> str:
    """Its output. It runs without a terminal, so that it cannot ask for a passphrase."""
    command = ["ssh-keygen", "-Y", *arguments]
    answer = subprocess.run(
        command, input=text, capture_output=True, text=True, encoding="utf-8", timeout=SECONDS, check=True,
        start_new_session=True,
    )  # fmt: skip
    return answer.stdout
