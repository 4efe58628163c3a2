"""The default model, in this process: network, word pieces, vocabulary; each imports only what it needs."""
