"""
The distilled tier: what the vectors of a store say of its words, asked in place of the model that made them.

`words` are what is learned of a passage, `ridge` is the arithmetic, `learn` makes term vectors, `ask` uses them.
"""
