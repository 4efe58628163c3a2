"""The vocabulary: values that check themselves. Nothing here does any I/O."""
