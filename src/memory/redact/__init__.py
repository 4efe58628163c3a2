"""Removes secrets from what is about to be saved, before anything is written."""

from memory.redact.patterns import Rule
from memory.redact.redactor import BUILT_IN, Redacted, Redactor

__all__ = ["BUILT_IN", "Redacted", "Redactor", "Rule"]
