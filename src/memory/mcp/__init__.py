"""
The MCP server: agents' arguments become one engine call, its result becomes text and structured content.

`tools` and what it lists know nothing of the protocol; `server` and the two transports are the only places that do.
"""
