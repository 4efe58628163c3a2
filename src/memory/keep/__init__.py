"""Saving, changing, deleting and undoing, and the rules by which a memory renews another."""
