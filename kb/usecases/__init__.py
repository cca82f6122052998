"""The use cases: functions over an open `Home`, which `KnowledgeBase` lists for the command line, MCP and Python."""
