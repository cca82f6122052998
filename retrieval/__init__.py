"""Turns a question into hits and packed context: `search` shows the whole way. No other package imports chromadb."""
