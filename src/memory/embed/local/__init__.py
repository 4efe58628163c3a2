"""The default model, in this process: its network, its word pieces, its vocabulary; each without what it does not need."""
