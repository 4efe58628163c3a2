"""One module a provider. They are imported when one is first asked for: see `memory.embed.registry`."""
