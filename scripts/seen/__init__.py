"""What `scripts/seen.py` looks at, a module for each side of the product."""
