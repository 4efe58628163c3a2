"""
Registers the MCP server, the hooks and the skill of `memory` with a coding agent, and undoes it.

    register       one request: worked out, checked, then written
    parts          which files get what, and have it; instructions in Markdown
    agents         the table of agents
    edits          entries in JSON files (their text: jsontext); toml: in TOML files
    files          read, compared, copied, replaced, or changed by Claude Code's own command
    command        the machine, and the command that an agent starts
"""
