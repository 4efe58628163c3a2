"""
The MCP server: agents' arguments become one engine call, its result becomes text and structured content.

What a tool does stands in `memory.tools`; only here is the protocol known.
"""
