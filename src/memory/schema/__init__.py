"""
The vocabulary: values that check themselves. Nothing here does any I/O.

The version stands here, for a stranger's package of that name may have overwritten `memory/__init__.py`.
"""

__version__ = "0.2.0"
