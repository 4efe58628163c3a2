"""Mistakes in what is found, in which order, and how it is shown."""

from __future__ import annotations

from mutants_table.mutant import Mutant

HOW_FAR = (
    Mutant(
        "gate-counts-one-more", "verdict.found >= options.enough", "verdict.found > options.enough", "test_judge.py"
    ),
    Mutant(
        "gate-any-name-is-enough",
        "names = all(term.exact for term in terms)",
        "names = any(term.exact for term in terms)",
        "test_judge.py",
    ),
    Mutant(
        "gate-no-effort-may-call",
        "if options.never_hybrid and tier is Tier.HYBRID else",
        "if options.gate is Gate.NEVER and tier is Tier.HYBRID else",
        "test_judge.py",
    ),
    Mutant("gate-stands-out-sooner", "KEYWORD_MARGIN = 0.5", "KEYWORD_MARGIN = 0.4", "test_judge.py test_tiers.py"),
    Mutant(
        "gate-short-by-one",
        "(names or len(terms) <= SHORT_QUERY):",
        "(names or len(terms) < SHORT_QUERY):",
        "test_judge.py",
    ),
    Mutant(
        "gate-looks-at-what-keywords-found-alone",
        "return min(first, self._retrievers.vector.margin(distilled.ranking[:DEPTH]) or 0.0)",
        "return first",
        "test_tiers.py",
    ),
    Mutant(
        "gate-makes-every-distilled-answer", "first is None or first < enough or", "first is None or", "test_tiers.py"
    ),
    Mutant("gate-believes-any-term-vectors", "KNOWN = 0.25\n", "KNOWN = 0.0\n", "test_tiers.py"),
    Mutant(
        "terms-a-pair-said-once-has-a-row",
        "once = (page.keys >= PAIRS) & (before == 0)",
        "once = page.keys < 0",
        "test_filter.py test_term_vectors.py",
    ),
    Mutant(
        "terms-rows-stand-where-they-stood",
        "where id = ?7 and generation = {generation} and term = ?1",
        "where id = ?7 and ?1 <> ''",
        "test_sqlite_term_vectors.py",
    ),
    Mutant(
        "words-other-databases-need-none",
        "if any(one != database and _is_database(one) for one in files):",
        "if False:",
        "test_words.py test_words_at_once.py",
    ),
    Mutant(
        "sums-numpy-always",
        'if "numpy" in sys.modules:\n            return _product(along,',
        "if True:\n            return _product(along,",
        "test_distilled.py",
    ),
    Mutant("sums-of-no-word", "map(add, along, axes.along(of_words))", "along", "test_sums.py"),
    Mutant("terms-are-always-new", "np.bincount(row, added, minlength=len(met))", "0", "test_filter.py"),
    Mutant(
        "terms-sentences-count-whole",
        "(SENTENCES / np.maximum(1, sentences))[:, None]",
        "SENTENCES",
        "test_filter.py",
    ),
    Mutant(
        "terms-word-vectors-are-not-scaled",
        "own[fresh] = np.float32(prior.scale) * vectors",
        "own[fresh] = vectors",
        "test_filter.py",
    ),
    Mutant(
        "words-of-a-paid-server",
        "embedders.enabled and embedders.free and",
        "embedders.enabled and",
        "test_words.py test_words_at_once.py",
    ),
    Mutant(
        "words-damaged-rows-pass",
        " and there.whole and there.sound:",
        " and there.whole:",
        "test_words.py test_words_at_once.py",
    ),
    Mutant("terms-only-the-last-teaches", "left -= done", "left = 0", "test_term_vectors.py"),
    Mutant(
        "terms-what-waits-lies-around-the-centre-of-now",
        "if np.isfinite(own).all():",
        "if False:",
        "test_waiting.py",
        "same_numbers",
    ),
    Mutant(
        "terms-pairs-said-long-ago-are-known",
        "noted[owners] - former <= HEARD",
        "noted[owners] - former <= 10**9",
        "test_filter.py",
        "last_passages",
    ),
    Mutant(
        "terms-small-stores-wait-too",
        "return max(1, min(WAITING, passages // BEHIND))",
        "return WAITING",
        "test_waiting.py",
        "small_store",
    ),
    Mutant(
        "terms-the-thread-beside-does-not-wait",
        "and not whole and not pending(store, generation):",
        "and False:",
        "test_waiting.py",
        "thread",
    ),
    Mutant(
        "terms-lessons-outlive-their-vectors",
        'for table in ("lexicon_lessons", "lexicon_pairs"):',
        'for table in ("lexicon_pairs",):',
        "test_stores.py test_term_vectors.py",
        "TermVectors or term_vectors",
    ),
    Mutant(
        "confidence-half-is-too-little",
        "if coverage >= ANSWERED_MIN_COVERAGE:",
        "if coverage > ANSWERED_MIN_COVERAGE:",
        "test_confidence.py",
    ),
    Mutant(
        "confidence-all-words-are-not-enough",
        "if evidence >= 0 or (short and coverage >= ALL) else",
        "if evidence >= 0 else",
        "test_confidence.py",
    ),
    Mutant(
        "confidence-trusts-any-model",
        "return min(1.0, max(0.0, _way(self.usual, self.strangers.right) / TELLING))",
        "return 1.0",
        "test_confidence.py",
    ),
    Mutant(
        "confidence-any-word-of-many-is-an-answer",
        "_between((BY_CHANCE, HELD[1]), by.inside)",
        "_between(HELD, by.inside)",
        "test_confidence.py",
    ),
    Mutant(
        "confidence-strangers-are-no-measure-of-nearness",
        "return _way(by.usual, cosines[0]) >= _nearer(cosines[0], by)",
        "return _way(by.usual, cosines[0]) >= BY_FAR",
        "test_confidence.py",
    ),
    Mutant(
        "confidence-what-has-no-vector-is-not-there",
        "(0.0 if hit.cosine is None else hit.cosine for hit in hits), reverse=True)",
        "(hit.cosine for hit in hits if hit.cosine is not None), reverse=True) or [0.0]",
        "test_confidence.py",
    ),
    Mutant(
        "confidence-a-project-is-the-store",
        "return Measure(known, vectors, round(vectors * share))",
        "return Measure(known, vectors, vectors)",
        "test_strangers.py",
    ),
    Mutant("strangers-are-embedded-each-time", "return known.stamp != STAMP or", "return True or", "test_strangers.py"),
    Mutant(
        "query-drops-its-rarest-words",
        "key=lambda term: -term.weight)[:TERMS]",
        "key=lambda term: term.weight)[:TERMS]",
        "test_postings.py",
    ),
)

RANKING = (
    Mutant(
        "fuse-swaps-the-weights",
        "keyword_weight * keyword + vector_weight * vector",
        "vector_weight * keyword + keyword_weight * vector",
        "test_rank.py",
    ),
    Mutant(
        "combined-takes-the-distilled-direction-whole", "DISTILLED_SHARE = 0.3", "DISTILLED_SHARE = 3.0", "test_rank.py"
    ),
    Mutant("combined-believes-any-term-vectors", "min(1.0, inverse / good)", "min(1.0, 1.0)", "test_rank.py"),
    Mutant(
        "combined-believes-what-few-passages-taught",
        "min(1.0, inverse / good) * credibility(passages)",
        "min(1.0, inverse / good)",
        "test_rank.py",
    ),
    Mutant("combined-is-said-of-no-share", "is None or fit <= 0 or", "is None or", "test_combined.py"),
    Mutant(
        "combined-cosines-are-shown",
        "pool.cosines = [near[chunk][2]",
        "pool.cosines = [near[chunk][0]",
        "test_combined.py",
    ),
    Mutant("superseded-are-in-scope", "among = ranked.difference(", "among = ranked.union(", "test_scopes.py"),
    Mutant("cosines-rounded-late", ".astype(np.float32)\n    found", "\n    found", "test_cosines.py"),
    Mutant("postings-of-what-went", "self._alive[rows] = False", "self._alive[rows] = True", "test_posting_file.py"),
    Mutant("postings-without-what-came", "if any(later):", "if not any(later):", "test_posting_file.py"),
    Mutant(
        "postings-in-a-write",
        "SQLITE_TXN_WRITE:  # what it reads",
        "SQLITE_TXN_NONE:  # what it reads",
        "test_posting_file.py",
    ),
    Mutant(
        "postings-of-a-later-snapshot",
        "if number < held.number or last < held.last:",
        "if False:",
        "test_posting_file.py",
    ),
    Mutant(
        "postings-half-done", "known, self._known = self._known, None", "known = self._known", "test_posting_file.py"
    ),
    Mutant("postings-that-do-not-count", "if held.totals != totals(db):", "if False:", "test_posting_file.py"),
    Mutant("fuse-does-not-normalise", "[one / highest for one", "[one for one", "test_rank.py"),
    Mutant(
        "fuse-no-vector-is-worst",
        "similarities.get(chunk, 0.0) - floor",
        "similarities.get(chunk, floor) - floor",
        "test_rank.py",
    ),
    Mutant(
        "fuse-ties-as-they-come",
        "sorted(zip([-score for score in scores], chunks, range(len(chunks)), strict=True))",
        "sorted(zip([-score for score in scores], range(len(chunks)), range(len(chunks)), strict=True))",
        "test_rank.py",
    ),
    Mutant("fuse-forgets-adjacent-words", "if any(adjacent.values()):", "if False:", "test_rank.py"),
    Mutant("fuse-counts-from-zero", "enumerate(order, start=1)}", "enumerate(order)}", "test_rank.py"),
    Mutant(
        "medium-takes-the-best-chunk",
        "score = sum(scored.score for scored in matching) / len(matching)",
        "score = max(scored.score for scored in matching)",
        "test_rank.py",
    ),
    Mutant(
        "medium-joins-sections-of-a-name",
        "while joins(last + 1) and not _begins(outline[last + 1][1]):",
        "while joins(last + 1):",
        "test_rank.py",
    ),
    Mutant(
        "coarse-takes-the-last-chunk",
        "firsts.setdefault(memory, place)",
        "firsts[memory] = place",
        "test_rank.py",
    ),
    Mutant(
        "unknown-similarity-is-zero",
        "mean = sum(known) / len(known) if known else None",
        "mean = sum(known) / len(known) if known else 0.0",
        "test_numbers.py test_sessions.py",
    ),
    Mutant(
        "topup-comes-first",
        "passages, hits = [*passages, *more], (*hits, *self._hits(more, found))",
        "passages, hits = [*more, *passages], (*self._hits(more, found), *hits)",
        "test_numbers.py test_tiers.py",
    ),
    Mutant(
        "topup-forgets-what-was-found",
        "len(shown) + len(found) == query.limit",
        "len(found) == query.limit",
        "test_numbers.py test_tiers.py",
    ),
    Mutant("correction-comes-after", "return line[::-1]", "return line", "test_order.py"),
    Mutant(
        "recall-of-all-places",
        "for id in ranking[:k]) / len(relevant)",
        "for id in ranking[:k]) / k",
        "test_measures.py",
    ),
)

STORE_FINDS = (
    Mutant(
        "scope-forgets-tasks",
        '    "task_code": "tasks",\n    "query_id": "runs",\n    "status"',
        '    "query_id": "runs",\n    "status"',
        "test_stores.py",
        "sqlite and (scope or filter)",
    ),
    Mutant(
        "scope-adds-what-has-no-project",
        'if column == "project" and NONE in allowed else clause',
        'if column == "project" else clause',
        "test_search.py test_seed_b.py",
        "scope or project",
    ),
    Mutant("scope-until-included", '"m.updated_at < ?"', '"m.updated_at <= ?"', "test_stores.py", "sqlite"),
    Mutant(
        "keyword-ties-turned-round",
        'order by score, f.rowid limit ?""",',
        'order by score, f.rowid desc limit ?""",',
        "test_stores.py",
        "sqlite",
    ),
    Mutant("keyword-bound-too-low", "MOST = 2.2", "MOST = 1.0", "test_filtered.py", "keywords"),
    Mutant(
        "keyword-words-bare",
        'return " OR ".join(quoted(term.text)',
        'return " OR ".join((term.text if term.text.isalnum() else quoted(term.text))',
        "test_text.py",
    ),
    Mutant(
        "keyword-star-inside-quotes",
        'quoted(term.text) + "*" * term.prefix',
        'quoted(term.text + "*" * term.prefix)',
        "test_text.py test_stores.py",
        "not [ram",
    ),
    Mutant(
        "vector-takes-the-farthest-window",
        "select v.chunk_id, c.memory_id, 1 - min(vec_distance_cosine(v.embedding, ?)) as cosine",
        "select v.chunk_id, c.memory_id, 1 - max(vec_distance_cosine(v.embedding, ?)) as cosine",
        "test_filtered.py",
        "vectors",
    ),
    Mutant(
        "excerpt-begins-too-early",
        "substr(ifnull(b.body, ''), c.start + 1, c.stop - c.start) end,",
        "substr(ifnull(b.body, ''), c.start, c.stop - c.start) end,",
        "test_stores.py",
        "sqlite and (excerpt or chunk or body)",
    ),
)

GRAPH = (
    Mutant(
        "graph-goes-one-way",
        '"select target from relations where source {_AMONG} union all select source from relations where target {_AMONG}"',
        '"select target from relations where source {_AMONG}"',
        "test_stores.py test_graph.py",
        "not [ram and (graph or walks)",
    ),
    Mutant(
        "graph-one-step-short",
        "for step in range(1, most + 1):",
        "for step in range(1, most):",
        "test_stores.py",
        "sqlite and walks",
    ),
    Mutant(
        "path-by-the-last-relation",
        "one for one in reversed(graph.edges(Relation, ",
        "one for one in (graph.edges(Relation, ",
        "test_stores.py",
        "sqlite and walks",
    ),
    Mutant(
        "path-of-several-moments",
        "with store.snapshot():\n        if source == target",
        "if True:\n        if source == target",
        "test_walks.py",
    ),
    Mutant("proximity-one-further", "0.5**distance", "0.5 ** (distance + 1)", "test_entity_search.py test_graph.py"),
    Mutant(
        "observed-twice", "*(text for text in wanted if text not in there)", "*wanted", "test_entities.py test_graph.py"
    ),
    Mutant(
        "graph-export-may-be-embedded",
        "                **never,\n",
        "",
        "test_entities.py test_graph_cli.py test_edges.py",
    ),
)

READERS = (
    Mutant(
        "fence-of-a-known-line",
        "body = escape_invisible(text)\n    boundary = os.urandom(_BOUNDARY_BYTES).hex()",
        'body = escape_invisible(text)\n    boundary = "5e" * _BYTES',
        "test_fence.py",
    ),
    Mutant(
        "orders-not-flagged",
        "return clean, (INSTRUCTIONS,), ",
        "return clean, (), ",
        "test_sanitize.py",
    ),
    Mutant(
        "orders-hidden-from-us",
        '        text = _HIDDEN.sub("", text)\n',
        "",
        "test_instructions.py",
    ),
    Mutant(
        "briefing-lets-lines-pass",
        r'text = _OURS.sub("> ", "\n".join(escape_invisible(document.body.strip()).splitlines()))',
        r'text = "\n".join(escape_invisible(document.body.strip()).splitlines())',
        "test_research.py test_adversary_runs.py",
        "frame",
    ),
    Mutant(
        "context-forgets-its-fence",
        "left = room.tokens - FENCE - tokens(",
        "left = room.tokens - tokens(",
        "test_context.py test_tiers.py test_fence.py test_search.py test_mcp_text.py",
    ),
    Mutant(
        "passage-never-cut",
        'shown = text if len(text) <= PASSAGE else f"{text[:PASSAGE].rstrip()}…"',
        "shown = text",
        "test_render.py",
    ),
    Mutant(
        "overlap-begins-inside-a-word",
        "starts = starts[1:]  # the first",
        "starts = starts[:]  # the first",
        "test_text.py",
    ),
    Mutant(
        "chunk-has-one-token-more",
        "while cut + 1 < stop and totals[stop] - totals[cut] > size:",
        "while cut + 1 < stop and totals[stop] - totals[cut] > size + 1:",
        "test_chunk.py",
    ),
    Mutant("stem-takes-away-a-second-l", '"aeioulsz"', '"aeiousz"', "test_stems.py"),
    Mutant("word-has-capitals-that-came-later", "bisect(self._capitals, code) % 2", "code", "test_stems.py"),
    Mutant(
        "rare-word-is-no-beginning",
        "(more := rows(longer)) > found",
        "(more := rows(longer)) < found",
        "test_stores.py",
    ),
    Mutant("chunk-is-always-a-section", "begins=cut == cuts[0])", "begins=True)", "test_chunk.py"),
)

FINDING = (*HOW_FAR, *RANKING, *STORE_FINDS, *GRAPH, *READERS)
