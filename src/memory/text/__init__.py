"""Text as the engine reads it: chunks, passages, terms. Pure functions: nothing here does any I/O."""
