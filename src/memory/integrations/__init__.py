"""
Registering the MCP server, the hooks and the skill of `memory` with a coding agent, and undoing it.

    register       one request: worked out, checked, then written
    parts          which files get what, and have it
    agents         the table of agents
    edits          entries of a JSON file (text: jsontext); toml, prose: of the other kinds
    files          read, shown, kept beside, replaced
    own            Claude Code's own command
    command        what an agent starts
    environment    the machine
"""
