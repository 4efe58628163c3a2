"""Settings, where they come from, and which project a folder belongs to."""
