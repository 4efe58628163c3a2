"""Keeping: a draft becomes a memory, and what is kept gets its vectors."""
