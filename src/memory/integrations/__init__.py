"""
Registering the MCP server, the hooks and the skill of `memory` with a coding agent, and undoing it.

    register       one request: worked out, checked, then written
    overview       every agent, and whether memory is set up in it
    parts          which files get what
    agents         the table of agents
    edits          entries of a JSON file (text: jsontext); toml, prose: of the other kinds
    diff           a change as people are shown it
    files          read, kept beside, replaced
    own            Claude Code's own command
    command        what an agent starts
    environment    the machine
"""
