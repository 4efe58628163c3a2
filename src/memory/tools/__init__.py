"""What can be asked of the product, by the names that agents and programs know, and how its answers read."""
