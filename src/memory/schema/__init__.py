"""
The vocabulary: values that check themselves. Nothing here does any I/O, but for asking the system whether a process lives.

The version stands here because another package called `memory` may have overwritten `memory/__init__.py`.
"""

__version__ = "0.2.0"
