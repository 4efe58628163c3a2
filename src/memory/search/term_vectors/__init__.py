"""
The distilled tier: what a store's vectors say about its words, used in place of the model that made them.

`words` gives a passage's terms, `ridge` is the arithmetic, `learn` makes term vectors, `ask` uses them.
"""
