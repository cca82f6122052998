"""The use cases of one home, shared by the command line, MCP and Python."""
