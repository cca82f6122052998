"""The shape of each thing that is shown: one for `--json`, MCP and Python alike."""
