"""Takes secrets out of what is to be kept, before anything is written."""

from memory.redact.detectors import Rule
from memory.redact.redactor import BUILT_IN, Redacted, Redactor

__all__ = ["BUILT_IN", "Redacted", "Redactor", "Rule"]
