"""The store in one SQLite file: FTS5 for words, sqlite-vec for distances."""
