"""From a question to ranked passages and packed context. The only package that knows chromadb and sentence_transformers."""
