"""Adapters for frameworks, each over the public library: a module, and an extra of the package, for each."""
