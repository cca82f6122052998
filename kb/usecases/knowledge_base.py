"""The class KnowledgeBase: every use case of kb as a method, for the command line, MCP and Python.

Methods import the modules that do the work, so a question about facts loads no models and no judge.
"""

from kb.usecases.about_documents import AboutDocuments
from kb.usecases.about_kernels import AboutKernels


class KnowledgeBase(AboutDocuments, AboutKernels):
    """An open home with every use case as a method. `kb.open()` returns it."""
