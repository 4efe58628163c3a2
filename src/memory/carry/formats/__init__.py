"""What other programs keep, read as drafts: from bytes or rows to items, a module a sort; `formats` tells them apart."""
