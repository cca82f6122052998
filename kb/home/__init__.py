"""The use cases of one home: all that the command line, MCP and Python can ask of kb."""
