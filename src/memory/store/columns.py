"""What is indexed of a chunk, and what a word is worth where."""

from __future__ import annotations

WEIGHTS = {
    "title": 3.0,
    "heading": 1.5,
    "text": 1.0,
    "why": 1.0,
    "impact": 1.0,
    "tags": 1.5,
    "category": 0.5,
    "project": 0.5,
    "source": 0.5,
    "files": 1.0,
    "grams": 1.0,
}
"""
BM25 weights of the columns, in the order of the index.

Title, heading, text and grams are those of every chunk. The others are facts about the whole memory and stand with
its first chunk only, so that a long memory does not look like many that agree.
"""
