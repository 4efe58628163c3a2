"""What other programs keep, read as drafts: a module a format, each from bytes or rows to items; `formats` tells them."""
