"""How results look: dictionaries for programs, text for people and agents. No other layer makes them."""
