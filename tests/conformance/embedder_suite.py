"""What every embedder promises: subclass it and give a fixture `embedder`."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np
import pytest

if TYPE_CHECKING:
    from memory.schema.space import Vectors
    from memory.vectors import Embedder, Role

TEXTS = (
    "where is the database password",
    "The deployment failed because the TLS certificate had expired. " * 6,
    "def mean(xs): return sum(xs) / len(xs)",
    "",
    "数据库密码在哪里？",
    " \n\t ",
    "naïve café, e\u0301clair, İstanbul",
    "🦊👩‍👩‍👧 !!! ??? ...",
    "\x00\x07 control\x1b[31m characters",
    "where is the database password",
    "x",
)


def cosines(left: Vectors, right: Vectors) -> Vectors:
    """Row by row, for rows of length 1."""
    return np.einsum("ij,ij->i", left, right)


class EmbedderSuite:
    def test_it_has_a_name_a_model_and_a_width(self, embedder: Embedder) -> None:
        assert embedder.provider
        assert embedder.model
        assert embedder.dimension > 0
        assert isinstance(embedder.warm, bool)

    def test_rows_are_as_wide_as_the_dimension_says(self, embedder: Embedder) -> None:
        assert embedder.embed(TEXTS, "passage").shape == (len(TEXTS), embedder.dimension)

    def test_vectors_are_contiguous_float32(self, embedder: Embedder) -> None:
        vectors = embedder.embed(TEXTS, "passage")

        assert vectors.dtype == np.float32
        assert vectors.flags.c_contiguous

    def test_rows_are_finite_and_of_length_1(self, embedder: Embedder) -> None:
        vectors = embedder.embed(TEXTS, "passage")

        assert np.isfinite(vectors).all()
        assert np.linalg.norm(vectors, axis=1) == pytest.approx(1.0, abs=1e-5)

    def test_no_texts_give_no_rows(self, embedder: Embedder) -> None:
        vectors = embedder.embed([], "query")

        assert vectors.shape == (0, embedder.dimension)
        assert vectors.dtype == np.float32

    def test_a_text_has_the_same_vector_alone_and_among_others(self, embedder: Embedder) -> None:
        together = embedder.embed(TEXTS, "passage")
        alone = np.concatenate([embedder.embed([text], "passage") for text in TEXTS])

        assert cosines(together, alone).min() >= 0.999999

    def test_the_order_of_texts_is_the_order_of_rows(self, embedder: Embedder) -> None:
        forward = embedder.embed(TEXTS, "passage")
        backward = embedder.embed(TEXTS[::-1], "passage")

        assert cosines(forward, backward[::-1]).min() >= 0.999999

    def test_equal_texts_have_equal_vectors_in_one_batch(self, embedder: Embedder) -> None:
        vectors = embedder.embed(TEXTS, "passage")

        assert cosines(vectors[:1], vectors[9:10]).min() >= 0.999999

    def test_many_more_texts_than_fit_a_batch(self, embedder: Embedder) -> None:
        texts = [f"memory number {number} of {TEXTS[number % 3]}" for number in range(60)]

        vectors = embedder.embed(texts, "passage")

        assert cosines(vectors[-1:], embedder.embed(texts[-1:], "passage")).min() >= 0.999999
        assert cosines(vectors[:1], embedder.embed(texts[:1], "passage")).min() >= 0.999999

    def test_texts_that_share_words_are_closer_than_others(self, embedder: Embedder) -> None:
        query, near, far = embedder.embed(
            ["rotate the database password", "how we rotate the database password", "penguins eat fish"], "passage"
        )

        assert query @ near > query @ far

    @pytest.mark.parametrize("role", ["query", "passage"])
    def test_both_roles_are_taken(self, embedder: Embedder, role: Role) -> None:
        assert embedder.embed(["a text"], role).shape == (1, embedder.dimension)

    @pytest.mark.parametrize("text", ["word " * 20_000, "x" * 100_000, "." * 100_000], ids=["words", "word", "marks"])
    def test_a_very_long_text_has_a_vector(self, embedder: Embedder, text: str) -> None:
        assert np.isfinite(embedder.embed([text], "passage")).all()

    @pytest.mark.parametrize("text", TEXTS)
    def test_a_text_that_fits_is_its_own_window(self, embedder: Embedder, text: str) -> None:
        assert list(embedder.windows(text)) == [text]

    @pytest.mark.parametrize("text", ["two words " * 5_000, "中文" * 5_000, "a.b" * 5_000, "x" * 10_000, " " * 10_000])
    def test_windows_cover_the_text(self, embedder: Embedder, text: str) -> None:
        assert "".join(embedder.windows(text)) == text

    def test_threads_may_share_it(self, embedder: Embedder) -> None:
        expected = embedder.embed(TEXTS, "passage")

        with ThreadPoolExecutor(4) as threads:
            found = list(threads.map(lambda _: embedder.embed(TEXTS, "passage"), range(8)))

        assert all(cosines(vectors, expected).min() >= 0.999999 for vectors in found)
