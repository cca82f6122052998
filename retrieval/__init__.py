"""Turn a question into ranked passages and packed context. No other package imports chromadb."""
