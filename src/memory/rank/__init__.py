"""Rankings into better rankings, and whether one is enough. Pure functions; nothing here opens anything."""
