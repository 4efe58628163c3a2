"""How results look: dictionaries for programs, text for people. The one layer that makes either."""
