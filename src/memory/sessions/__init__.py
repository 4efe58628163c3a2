"""The memory of agent teams by the documented names: seven kinds, three granularities, 28 tools."""
