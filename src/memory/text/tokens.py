"""What a model reads: how many tokens a text takes, without loading it; slices and batches that fit; the passage of a chunk."""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

from memory.schema.memory import ChunkType, Excerpt

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


# Every part of a piece is a piece, and matching is greedy, so no other split has fewer pieces, and joining two texts never
# adds any.
_PIECE = re.compile(r"[A-Z]?[a-z]{1,4}|[A-Z]{1,2}|[^\s\ufeff]")


@cache
def _hangul() -> re.Pattern[str]:
    return re.compile("[\uac00-\ud7a3]")  # WordPiece decomposes a syllable into two or three letters


def tokens(text: str) -> int:
    """
    An estimate, rather high, of the tokens that a BERT or GPT model makes of a text.

    A token is up to four Latin letters (a capital before them is free), or two capitals, or any other character except
    white space and byte order marks; a Hangul syllable is two. Linear, about 20 million characters a second.

    Measured against the WordPiece vocabulary of all-MiniLM-L6-v2, real tokens for each estimated one: 0.90 in Python
    functions (CoSQA), 0.84 in Markdown (READMEs, changelogs), 0.78 in chats (LoCoMo), 0.73 and 0.68 in abstracts
    (SciFact, Cranfield); 0.99 in Chinese, 0.94 in Japanese, 0.96 in Korean and Russian, 0.98 in Arabic. Of 3,739
    chunks of 400 to 450 in English and code, fewer than 20 really had more than 450, and one more than 510.
    Too low for German and Finnish (1.1), whose words an English vocabulary breaks up. Not measured:
    the vocabularies of GPT, which are larger.

    Promises: `tokens(a + b) <= tokens(a) + tokens(b)`, and equality where the two meet at white space.
    """
    count = len(_PIECE.findall(text))
    return count if text.isascii() else count + len(_hangul().findall(text))


def running_totals(texts: Iterable[str], counter: Callable[[str], int] = tokens) -> tuple[int, ...]:
    """The tokens before each of some texts, and of all."""
    return tuple(accumulate(map(counter, texts), initial=0))


def letters(text: str) -> int:
    """Characters after accents and syllables are decomposed (NFD): no model makes more tokens of the text."""
    return len(text) if text.isascii() else len(unicodedata.normalize("NFD", text))


# For models whose tokenizer is not available here ------------------------------

# After white space a run of letters is likely a word that vocabularies have; inside a name,
# a path or base64 it is not.
# The pattern never looks ahead, so a slice that begins with a piece, or with the white space before it, is split as in the
# whole text.
_LIKELY = re.compile(r"(?<=\s)[A-Z]?[a-z]{1,5}|[a-z]{1,3}|\S")


@cache  # saves half a millisecond at start-up
def _double() -> re.Pattern[str]:
    return re.compile("[\uac00-\ud7a3\U00010000-\U0010ffff]")


def estimated(text: str) -> int:
    """
    About the most tokens that a text can have; too many for nearly all texts. [CLS], [SEP] and the like are not counted.

    A token is up to five small ASCII letters after white space, with or without a capital before them; elsewhere up to
    three; or any other character except white space. A Hangul syllable or a character beyond U+FFFF (emoji, rare
    ideographs) is two. Linear, about 18 million characters a second in English.

    Measured against the WordPiece vocabulary of all-MiniLM-L6-v2: estimated tokens for each real one, and the share of
    texts with no more tokens than estimated. 1.19 and 97.4 % in Python functions (CoSQA),
    1.24 and 100 % in chats (LoCoMo), 1.41 and 1.43, both 100 %, in abstracts (SciFact, Cranfield),
    1.24 and 93 % in URLs, 1.21 and 99.7 % in base64.
    No text had more than 1.18 times as many as estimated. Believed and not measured: larger vocabularies (GPT, XLM-R)
    make fewer tokens of all of these; GPT makes up to three of an emoji.

    Promises: `estimated(a + b) <= estimated(a) + estimated(b)`, and equality if `b` begins with white space.
    """
    # Not `tokens`, which decides where chunks end: stored chunks depend on its rule, while this one may change.
    count = len(_LIKELY.findall(text))
    return count if text.isascii() else count + len(_double().findall(text))


def estimated_sum(texts: Iterable[str]) -> int:
    """The most tokens that these texts have together, about."""
    return sum([estimated(text) for text in texts])


def batches(sizes: Iterable[tuple[int, int]], most_tokens: int, most_texts: int | None = None) -> list[list[int]]:
    """
    Which texts go together, in their order: at most `most_tokens` and `most_texts`; a text with more is alone.

    Args:
        sizes: Each text's index, which is returned, and its tokens.
    """
    found: list[list[int]] = []
    tokens = 0
    for index, size in sizes:
        if not found or len(found[-1]) == most_texts or tokens + size > most_tokens:
            found.append([])
            tokens = 0
        found[-1].append(index)
        tokens += size
    return found


def windows(text: str, limit: int) -> tuple[str, ...]:
    """
    The text itself if it has at most `limit` tokens by `estimated`, else slices that do and that concatenate to it.

    They are cut before white space; a word is cut only if it takes more than half a window.
    No slice is blank unless the text is. Linear, about 7 million characters a second in English.

    Args:
        limit: From 1. With 1, a character of two tokens is a slice of its own.
    """
    return tuple(text[start:stop] for start, stop in pairwise((0, *_cuts(text, limit), len(text))))


def _cuts(text: str, limit: int) -> Iterator[int]:
    """Where each window begins, except the first."""
    count = 0  # tokens in the window so far
    stop = 0  # where the last piece ends
    double = _double()
    gap, before = 0, 0  # where the white space before the last word begins, and the tokens of the window up to there
    for piece in _LIKELY.finditer(text):
        size = 2 if double.match(text, piece.start()) else 1
        if piece.start() > stop:
            gap, before = stop, count
        if count + size > limit and before * 2 >= limit >= count - before + size:
            yield gap
            count, before = count - before, 0
        elif count + size > limit and count:
            yield stop
            count, before = 0, 0
        count += size
        stop = piece.end()


# The passage of a chunk ----------------------------------------------------------


def passage(excerpt: Excerpt, overlap: int = 50) -> str:
    """
    The text that is embedded for a chunk: its place, a little of the text before it, then its text.

    For the head of a note: its title, what, why, impact and tags. If what it says changes,
    `memory.schema.space.RECIPE` must be raised.

    Args:
        overlap: The most tokens of the text before, by `tokens`; 0..400.
    """
    if excerpt.chunk.type is ChunkType.HEAD:
        texts = (excerpt.title, excerpt.what, excerpt.why, excerpt.impact, " ".join(excerpt.tags))
        return "\n".join(text.strip() for text in texts if text.strip())
    place = " › ".join((excerpt.title, *(header.lstrip("# ") for header in excerpt.chunk.header_path)))
    return f"{place}\n{_overlap(excerpt, overlap)}{excerpt.text}".strip()


def passages(excerpts: Iterable[Excerpt], overlap: int) -> list[str]:
    """The same of several chunks."""
    return [passage(excerpt, overlap) for excerpt in excerpts]


def _overlap(excerpt: Excerpt, most: int) -> str:
    """The last whole words before a chunk: half a word would be another word."""
    before = excerpt.before
    starts = [found.start() for found in _word().finditer(before)]
    if len(before) < excerpt.chunk.start:
        starts = starts[1:]  # the first may be half a word
    cut = len(before)
    for start in reversed(starts):
        most -= tokens(before[start:cut])
        if most < 0:
            break
        cut = start
    return before[cut:]


@cache
def _word() -> re.Pattern[str]:
    """A word, or a single character of a script without spaces."""
    from memory.text.terms import RANGES

    return re.compile(rf"[{RANGES}]|[^\s{RANGES}]+")
