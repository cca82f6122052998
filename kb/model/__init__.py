"""The nouns of kb as immutable values. Nothing here reads, writes or imports a heavy library."""
