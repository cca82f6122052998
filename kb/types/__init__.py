"""The data types of kb, as immutable values. Nothing here does I/O or imports a heavy library."""
