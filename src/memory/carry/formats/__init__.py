"""What other programs keep, read as drafts: a module a sort of program, each from bytes or rows to items; `formats` tells them."""
