"""Mistakes in what is kept, where it is sent, and what is taken out before."""

from __future__ import annotations

from mutants_table.mutant import Mutant

STORE_WRITES = (
    Mutant(
        "supersede-forgets-the-pin",
        "    if old.pinned:  # what was",
        "    if not old.pinned:  # what was",
        "test_stores.py",
        "pin",
    ),
    Mutant("context-pins-last", '[("Pinned:", pinned), *rest]', '[*rest, ("Pinned:", pinned)]', "test_context.py"),
    Mutant(
        "context-forgets-preferences",
        "categories=frozenset({PREFERENCE})",
        "categories=frozenset()",
        "test_context.py",
    ),
    Mutant(
        "write-begins-deferred",
        'connection.execute("begin immediate")\n            self._local.open',
        'connection.execute("begin deferred")\n            self._local.open',
        "test_sqlite_store.py test_adversary.py",
    ),
    Mutant(
        "write-keeps-what-failed",
        'rolled back by itself\n                    connection.execute("rollback")',
        'rolled back by itself\n                    connection.execute("commit")',
        "test_stores.py test_sqlite_store.py",
        "not [ram",
    ),
    Mutant("foreign-keys-off", '("foreign_keys", 1)', '("foreign_keys", 0)', "test_stores.py", "sqlite"),
    Mutant(
        "link-keeps-its-memory",
        "memory     integer not null references memories on delete cascade,",
        "memory     integer not null references memories,",
        "test_stores.py",
        "sqlite and TestGraph",
    ),
    Mutant(
        "strangers-come-no-nearer",
        "np.maximum(noted, highest).astype",
        "noted.astype",
        "test_stores.py",
        "sqlite and TestStrangers",
    ),
    Mutant(
        "strangers-lose-nobody",
        "loose |= cosines.max(axis=1) >= nearest - ROUNDING",
        "loose |= False",
        "test_stores.py",
        "sqlite and TestStrangers",
    ),
    Mutant(
        "what-comes-while-strangers-are-compared-is-missed",
        "np.maximum(comparison.nearest, rising)",
        "comparison.nearest",
        "laws/test_strangers.py",
    ),
    Mutant(
        "strangers-that-are-half-compared-answer",
        "and length(n.nearest) > 0",
        "",
        "laws/test_strangers.py",
    ),
    Mutant(
        "strangers-of-another-model-are-taken",
        "generation.fingerprint and _exchanged(",
        "False and _exchanged(",
        "e2e/test_carried_strangers.py",
    ),
    Mutant(
        "edge-is-always-new",
        "return db.changes() > 0",
        "return db.changes() >= 0",
        "test_stores.py",
        "sqlite and TestGraph",
    ),
    Mutant(
        "update-of-a-former-state",
        "if revisions is not None and db.execute(count, (records.key(id),)).get != revisions:",
        "if revisions is not None and db.execute(count, (records.key(id),)).get < revisions:",
        "test_stores.py test_adversary.py",
        "not [ram",
    ),
    Mutant(
        "queue-takes-the-first-alone",
        'into embed_queue (chunk_id) values (?)", waiting)',
        'into embed_queue (chunk_id) values (?)", waiting[:1])',
        "test_stores.py",
        "sqlite",
    ),
    Mutant(
        "vectors-go-after-their-chunks",
        'generations.forget_memory(db, records.key(id))\n            db.execute("delete from chunks where memory_id = ?", (records.key(id),))',
        'db.execute("delete from chunks where memory_id = ?", (records.key(id),))\n            generations.forget_memory(db, records.key(id))',
        "test_stores.py",
        "sqlite",
    ),
    Mutant(
        "superseded-by-two",
        "if old.status is Status.SUPERSEDED and old.superseded_by == by:",
        "if old.status is Status.SUPERSEDED:",
        "test_stores.py",
        "sqlite",
    ),
    Mutant(
        "caught-failure-is-kept",
        "self._local.failed = True  # what it wrote",
        "self._local.failed = False  # what it wrote",
        "test_stores.py",
        "sqlite and TestTransactions",
    ),
    Mutant(
        "what-was-superseded-stays-pinned",
        "former = [] if pinned else _superseded(store, found)",
        "former: list[Memory] = []",
        "test_cli.py",
        "pinned",
    ),
    Mutant(
        "batch-is-known-as-it-began",
        "known_memories(store, [entry])[0] if noted else there",
        "there",
        "test_rules.py",
    ),
    Mutant(
        "successor-inherits-no-status",
        "status, successor = passed.status, passed.superseded_by",
        "successor = passed.superseded_by",
        "test_rules.py test_stores.py",
        "not [ram",
    ),
    Mutant("last-changed-is-renewed-first", "return alike or one", "return one or alike", "test_stores.py", "TestOne"),
    Mutant(
        "hash-forgets-the-impact",
        'for name in (*_TEXTS, "category", "tags")]',
        'for name in (*_TEXTS, "category", "tags") if name != "impact"]',
        "test_values.py",
    ),
)

GENERATIONS = (
    Mutant(
        "activate-does-not-look",
        "if (before := active(db)) != instead_of:",
        "if (before := active(db)) is None and instead_of is not None:",
        "test_stores.py",
        "sqlite",
    ),
    Mutant(
        "activate-queues-nothing",
        "        renew(db, generation)\n        return True",
        "        return True",
        "test_stores.py",
        "sqlite",
    ),
    Mutant(
        "reindex-leaves-the-late-ones",
        "late = _embed_missing(target, batch, lambda _done, _total: None)",
        "late = Tally(0, *tally[1:])",
        "test_adversary.py",
        "reindex",
    ),
    Mutant(
        "reindex-embeds-what-is-never",
        "where c.id > ? and m.keyword_only = 0 and not exists",
        "where c.id > ? and not exists",
        "test_stores.py",
        "not [ram",
    ),
    Mutant(
        "exchanged-model-believed",
        "and float(former @ fingerprint) < _SAME",
        "and float(former @ fingerprint) >= _SAME",
        "test_adversary_embedding.py",
        "exchanged or former_model",
    ),
    Mutant(
        "claim-taken-from-elsewhere", "one.fate is Fate.ENDED]", "one.fate is not Fate.RUNS]", "test_faults.py", "begun"
    ),
    Mutant(
        "holder-any-process-of-the-id",
        "return started == _GONE or (bool(started and holder.started) and started != holder.started)",
        "return started == _GONE",
        "test_holder.py",
    ),
    Mutant(
        "holder-of-another-start",
        "if holder is None or holder.machine != _machine():",
        "if holder is None:",
        "test_holder.py",
    ),
)

SERVERS = (
    Mutant("retry-when-it-likes", "wait = error.after or min(", "wait = min(", "test_client.py"),
    Mutant("retry-never-waits-longer", "WAIT * 2**attempt", "WAIT", "test_client.py"),
    Mutant(
        "retry-without-a-deadline",
        "if attempt == self._settings.retries or patience < 0:",
        "if attempt == self._settings.retries:",
        "test_client.py test_adversary_embedding.py",
    ),
    Mutant("retry-not-when-busy", "case 408 | 409 | 425 | 429 |", "case 408 | 409 | 425 |", "test_client.py"),
    Mutant(
        "budget-looks-afterwards",
        "calls + call.calls > budget.calls",
        "calls > budget.calls",
        "test_stores.py",
        "sqlite",
    ),
    Mutant(
        "ledger-loses-what-is-owed",
        "return calls[number:]",
        "return calls[number + 1 :]",
        "test_client.py test_adversary_embedding.py",
    ),
    Mutant(
        "ledger-hides-failures",
        "outcome.error = printable(str(error))",
        'outcome.error = ""',
        "test_client.py",
    ),
    Mutant(
        "ledger-loses-notes",
        "return calls[-10 * UNWRITTEN :]",
        "return []",
        "test_adversary_embedding.py",
        "noted",
    ),
    Mutant(
        "pause-as-long-as-it-says",
        "pause = min(LONGEST_PAUSE, max(self._pause_seconds, error.after or 0))",
        "pause = max(self._pause_seconds, error.after or 0)",
        "test_adversary_embedding.py",
    ),
    Mutant(
        "plug-in-asked-while-left-alone",
        "        if self.host:\n            self.meter.check()",
        "        if not self.host:\n            self.meter.check()",
        "test_third_party.py",
    ),
    Mutant(
        "vectors-as-they-come",
        "return Reply([rows[index] for index in range(count)], tokens)",
        "return Reply([item.embedding for item in reply.data], tokens)",
        "test_provider.py test_client.py",
    ),
    Mutant(
        "prefixes-swapped",
        'before = profile.query_prefix if role == "query" else',
        'before = profile.query_prefix if role != "query" else',
        "test_client.py",
    ),
)

SECRETS = (
    Mutant("redact-first-line-of-a-key", "return match.start(), last.end()", "return match.span()", "test_redact.py"),
    Mutant("redact-tokens-with-a-type", '"alg" in header', '"typ" in header', "test_redact.py"),
    Mutant(
        "redact-longer-tokens-alone",
        '"ghp_ gho_ ghu_ ghs_ ghr_", r"[A-Za-z0-9_]{36,}',
        '"ghp_ gho_ ghu_ ghs_ ghr_", r"[A-Za-z0-9_]{37,}',
        "test_redact.py test_secret_forms.py",
    ),
    Mutant(
        "redact-url-ports-first",
        "if re.match(_PORT, value) and not _no_port(match, value):",
        "if re.match(_PORT, value):",
        "test_redact.py test_secret_forms.py test_secret_ways.py",
    ),
    Mutant(
        "redact-bearer-longer",
        r'_BEARER = r"bearer[ \t]{1,4}(?P<s>[A-Za-z0-9._~+/=-]{16,8192})"',
        r'_BEARER = r"bearer[ \t]{1,4}(?P<s>[A-Za-z0-9._~+/=-]{64,8192})"',
        "test_redact.py test_secret_forms.py",
    ),
    Mutant(
        "redact-command-with-a-blank",
        r'_SSHPASS = rf"sshpass[ \t]{{1,4}}-p[ \t]{{0,4}}',
        r'_SSHPASS = rf"sshpass[ \t]{{1,4}}-p[ \t]{{1,4}}',
        "test_redact.py",
    ),
    Mutant(
        "redact-assigned-longer",
        "if password else _literal(value)",
        "if password else strong(value) and not code(value)",
        "test_redact.py test_secret_forms.py",
    ),
    Mutant(
        "redact-not-what-is-split-unseen",
        r'"|[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]"',
        r'"|[\u00ad\u202a-\u202e\u2060-\u2064\ufeff]"',
        "test_redact.py",
    ),
    Mutant(
        "redact-inner-mark-alone", "start = start if depth else tag.start()", "start = tag.start()", "test_redact.py"
    ),
    Mutant(
        "redact-value-by-its-own-name",
        "without_named(_name(str(key), value), item, depth)",
        "without_named(str(key), item, depth)",
        "test_redact.py test_secret_forms.py",
    ),
    Mutant(
        "redact-not-the-history",
        "history = tuple(map(self.sanitizer.revision, line.history))",
        "history = line.history",
        "test_sanitize.py test_cli.py",
    ),
    Mutant(
        "ignore-knows-case",
        "return Rule(name, begin + first + reached + end, folded=True, judge=re.Match.span)",
        "return Rule(name, begin + first + reached + end, folded=False, judge=re.Match.span)",
        "test_redact_ignore.py",
    ),
    Mutant(
        "ignore-read-once",
        "if stamp != self._stamp:",
        "if self._stamp is None and stamp:",
        "test_sanitize.py test_redact_ignore.py",
    ),
)

IMPORTS = (
    Mutant("import-knows-only-uids", "unless_known=line.foreign", "unless_known=False", "test_importing.py"),
    Mutant(
        "import-takes-what-is-older",
        "item.updated is not None and item.updated > old.updated_at",
        "item.updated is not None",
        "test_import.py",
    ),
    Mutant(
        "import-embeds-each",
        "self._vectors.postponed = True",
        "self._vectors.postponed = False",
        "test_importing.py",
    ),
    Mutant(
        "import-stops-at-a-bad-one",
        "except (Invalid, NotFound) as error:\n            if len(several) == 1:",
        "except NotFound as error:\n            if len(several) == 1:",
        "test_importing.py",
    ),
    Mutant("import-follows-the-last-sibling", 'name = node.get("parent")', "name = None", "test_import.py"),
    Mutant(
        "front-matter-is-text", "return Matter(\n        body,\n", "return Matter(\n        text,\n", "test_import.py"
    ),
)

TRASH = (
    Mutant(
        "undo-of-what-was-changed-since",
        "    return now == after\n",
        "    return True\n",
        "test_trash.py test_killed_trash.py",
    ),
    Mutant(
        "purge-leaves-the-journal",
        "        store.steps.forget(ids)\n        return",
        "        return",
        "test_trash.py test_killed_trash.py",
    ),
    Mutant(
        "expire-takes-all-of-a-uid",
        ", deleted_at=one.deleted_at)\n    ids",
        ")\n    ids",
        "test_trash.py test_killed_trash.py",
        "over",
    ),
    Mutant(
        "expire-forgets-what-is-back",
        "if id not in there and not ",
        "if not ",
        "test_trash.py test_killed_trash.py",
        "over",
    ),
    Mutant(
        "purge-sweeps-nothing",
        "    if store.path:\n        sweep(",
        "    if not store:\n        sweep(",
        "test_trash.py test_killed_trash.py",
        "beside",
    ),
    Mutant(
        "sweeps-what-is-written",
        "fcntl.LOCK_EX | fcntl.LOCK_NB)\n            os.unlink(path)",
        "fcntl.LOCK_UN)\n            os.unlink(path)",
        "test_writing.py",
    ),
    Mutant("wipe-keeps-the-file", '        db.execute("vacuum")\n', "", "test_killed_trash.py", "byte"),
    Mutant("wipe-keeps-words", "values ('optimize')", "values ('integrity-check')", "test_killed_trash.py", "byte"),
    Mutant(
        "trash-forgets-what-was-superseded",
        "superseded=[one.uid for one in pointing.values() if one.superseded_by == memory.id],",
        "superseded=[],",
        "test_trash.py test_killed_trash.py test_undo.py",
    ),
    Mutant(
        "undo-takes-anothers-step",
        "if step.user not in self._own:",
        "if not self._own:",
        "test_trash.py test_killed_trash.py",
    ),
    Mutant(
        "undo-takes-along-what-others-did",
        "if other.by in (step.by, USER) and other.user in own(store):",
        "if other:",
        "test_trash.py test_killed_trash.py test_undo.py",
    ),
    Mutant(
        "undo-takes-an-agents-step",
        "steps.last(by=USER, users=self._own)",
        "steps.last(users=self._own)",
        "test_trash.py test_killed_trash.py",
    ),
)

KEEPING = (*STORE_WRITES, *GENERATIONS, *SERVERS, *SECRETS, *IMPORTS, *TRASH)
