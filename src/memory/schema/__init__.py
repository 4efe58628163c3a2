"""The vocabulary: values that check themselves. Nothing here opens anything."""
