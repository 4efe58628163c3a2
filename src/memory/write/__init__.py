"""Saving: a draft becomes a memory, and saved memories get their vectors."""
