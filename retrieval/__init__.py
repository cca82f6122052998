"""From a question to ranked passages and packed context; the only package that knows chromadb."""
