"""Turns rankings into better ones and judges whether one is enough. Pure functions: nothing here does any I/O."""
