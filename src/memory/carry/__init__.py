"""In and out: exports, imports, mirrors, migrations, and what is proposed for review."""
