"""Mistakes in what is offered: sessions, runs, files, settings, commands, tools."""

from __future__ import annotations

from mutants_table.mutant import Mutant

SESSIONS_AND_RUNS = (
    Mutant(
        "resume-before-the-iteration",
        "(one.session_iter or 0) <= iteration), None)",
        "(one.session_iter or 0) < iteration), None)",
        "test_sessions.py",
    ),
    Mutant(
        "sessions-by-time-first",
        '("ifnull(m.session_iter, 0)", "m.created_at", "m.id")',
        '("m.created_at", "ifnull(m.session_iter, 0)", "m.id")',
        "test_stores.py",
        "sqlite and TestSessions",
    ),
    Mutant(
        "threshold-leaves-out-the-unknown",
        "hit.similarity is None or hit.similarity >= threshold",
        "(hit.similarity or 0.0) >= threshold",
        "test_seed_a.py",
        "threshold or similarity",
    ),
    Mutant(
        "cleanup-deletes-for-any-no",
        "dry_run = dry_run is not False",
        "dry_run = bool(dry_run)",
        "test_seed_d.py",
        "cleaning",
    ),
    Mutant(
        "document-beside-the-folder",
        "inside = target.is_relative_to(root)",
        "inside = str(target).startswith(str(root))",
        "test_sessions.py",
    ),
    Mutant(
        "run-sees-all-runs", "runs=frozenset(() if run is None else (run,))", "runs=frozenset()", "test_research.py"
    ),
    Mutant(
        "clear-takes-all-of-a-run",
        "kinds=frozenset(RESEARCH_KINDS), runs=",
        "runs=",
        "test_stores.py",
        "sqlite and TestRuns",
    ),
    Mutant(
        "feedback-kept-twice",
        "renews=rule.one if rule.renewed else ()",
        "renews=()",
        "test_research.py",
    ),
)

FILES = (
    Mutant(
        "import-forgets-how-often",
        '        "access_count": old.access_count,\n',
        "",
        "test_stores.py test_cli.py test_edges.py",
        "not [ram",
    ),
    Mutant(
        "import-takes-any-zone-for-utc",
        "return datetime.fromisoformat(text).astimezone(UTC)",
        "return datetime.fromisoformat(text).replace(tzinfo=UTC)",
        "test_cli.py test_edges.py test_adversary.py test_values.py",
    ),
    Mutant(
        "time-in-its-own-zone",
        "moment.astimezone(UTC).isoformat(",
        "moment.isoformat(",
        "test_values.py test_stores.py",
        "not [ram",
    ),
    Mutant(
        "frozen-without-its-log",
        "if copied or (self._seen[1] or (0, 0, 0))[1]:",
        "if copied:",
        "test_read_only.py",
    ),
    Mutant("frozen-never-looks-again", "return _states(self._parts) == self._seen", "return True", "test_read_only.py"),
    Mutant(
        "percentile-one-lower",
        "rank = -(-percent * len(ordered) // 100)",
        "rank = percent * len(ordered) // 100",
        "test_statistics.py",
    ),
    Mutant("watch-deletes-at-first-sight", "if name not in self._missing:", "if False:", "test_watch.py"),
    Mutant("watch-empties-with-its-disk", "prune = self.prune and bool(names)", "prune = self.prune", "test_watch.py"),
)

SETTINGS = (
    Mutant(
        "config-other-names-first",
        "(variable(key), *ALIASES.get(key, ()))",
        "(*ALIASES.get(key, ()), variable(key))",
        "test_adopt.py",
    ),
    Mutant(
        "config-environment-before-flag",
        'str(file or env.get("MEMORY_CONFIG") or',
        'str(env.get("MEMORY_CONFIG") or file or',
        "test_config.py test_cli.py",
    ),
    Mutant(
        "config-suggests-no-section",
        '''end = f".{key.rpartition('.')[2]}"''',
        'end = f".{key}"',
        "test_config.py",
    ),
    Mutant(
        "setup-takes-what-users-added",
        "            return replaced(document, node, self.value)\n        for key",
        "        return replaced(document, node, self.value)\n        for key",
        "test_setup.py",
    ),
    Mutant(
        "file-over-what-came-meanwhile",
        "            if check is not None:\n                check()\n",
        "",
        "test_setup.py test_writing.py",
    ),
    Mutant(
        "file-open-to-all",
        "os.chmod(beside, former.st_mode & 0o777)",
        "os.chmod(beside, 0o644)",
        "test_setup.py test_writing.py",
    ),
    Mutant(
        "setup-finds-what-it-made",
        'return standing is not None and standing.install("", force=True) == text',
        "return False",
        "test_setup.py",
    ),
    Mutant(
        "setup-leaves-empty-objects",
        "return (document if before is None else self._swept(document, self._document(before))).text",
        "return document.text",
        "test_setup.py",
    ),
    Mutant(
        "setup-takes-comments-behind",
        "text = _replaced(text, before, section.rest)",
        'text = _replaced(text, before, "")',
        "test_setup.py",
    ),
)

FACES = (
    Mutant(
        "exit-settings-as-failure",
        "return 2 if isinstance(error, (ConfigError, Invalid)) else 1",
        "return 2 if isinstance(error, Invalid) else 1",
        "test_cli.py",
    ),
    Mutant(
        "json-error-among-the-output",
        "click.echo(json.dumps(rendered(error)), err=True)",
        "click.echo(json.dumps(rendered(error)))",
        "test_cli.py",
    ),
    Mutant(
        "hook-stops-the-session",
        'else f"memory: {line}", err=True)\n    return 1',
        'else f"memory: {line}", err=True)\n    return 2',
        "test_hook.py",
    ),
    Mutant(
        "hook-reminds-at-once",
        "if since is None or time.time() - since < QUIET_SECONDS:",
        "if since is None:",
        "test_hook.py",
    ),
    Mutant(
        "two-hooks-speak-at-one-start",
        "if call.session and not _first(_mark(call.session, config.folder)):",
        "if False:",
        "test_hook.py",
        "start",
    ),
    Mutant("hook-reminds-for-ever", 'asked = found.get("stop_hook_active") is True or ', "asked = ", "test_hook.py"),
    Mutant(
        "capture-without-being-asked",
        "if event.capture and not capture:",
        "if False:",
        "test_setup.py",
        "capture",
    ),
    Mutant("capture-takes-a-question", """.endswith("?") or _ASKED.match(plain):""", ".endswith('?'):", "test_cues.py"),
    Mutant("capture-takes-a-supposition", "_SUPPOSED.search(until)\n        or ", "", "test_cues.py"),
    Mutant("capture-takes-a-condition", " or _WHEN.search(before)", "", "test_cues.py"),
    Mutant("capture-takes-what-others-say", " or _REPORTED.search(before)", "", "test_cues.py"),
    Mutant("capture-takes-what-holds-for-now", "if one.lasting and one.sort != CAUSE", "if False", "test_cues.py"),
    Mutant("capture-trusts-the-assistant", "(one.assistant and sentence.exact)", "one.assistant", "test_cues.py"),
    Mutant("capture-takes-orders-to-agents", "if found and orders(sentence.text)", "if False", "test_cues.py"),
    Mutant(
        "capture-takes-quotations",
        "_QUOTED.sub(put_away, _STRONG",
        "_QUOTED.sub(lambda one: one[0], _STRONG",
        "test_cues.py",
    ),
    Mutant("capture-takes-what-was-pasted", "blocks = [blocks[0], blocks[-1]]", "pass", "test_cues.py"),
    Mutant("capture-takes-what-was-refuted", "former[ASSISTANT].clear()", "pass", "test_capture.py"),
    Mutant("capture-takes-what-was-taken-back", "former[USER].clear()", "pass", "test_capture.py"),
    Mutant(
        "capture-keeps-secrets",
        "sentences(clean(turn.text), typed=person)",
        "sentences(turn.text, typed=person)",
        "test_review.py",
    ),
    Mutant("capture-reads-all", "file.seek(size - MOST)", "file.seek(0)", "test_capture.py"),
    Mutant(
        "capture-proposes-what-is-kept",
        "if said_already(engine.store, one.what, one.project) is None",
        "",
        "test_review.py",
    ),
    Mutant(
        "capture-hides-a-contradiction",
        "or (_DENIES.search(text) is None)",
        "or (_DENIES.search(theirs) is None)",
        "test_review.py",
    ),
    Mutant("review-forgets-what-was-dropped", "            settled.append(id)\n", "", "test_review.py"),
    Mutant("review-keeps-what-was-dropped", "[one for one in waiting if one.id != id]", "[*waiting]", "test_review.py"),
    Mutant(
        "mcp-always-structured",
        "more = recall.escape_all(values) if structured else None",
        "more = recall.escape_all(values)",
        "test_mcp_text.py",
    ),
    Mutant(
        "mcp-failure-looks-done",
        "structured_content=more, is_error=failed)",
        "structured_content=more, is_error=False)",
        "test_mcp.py",
    ),
    Mutant(
        "tool-takes-the-bound-always",
        "return None if one.strict and bound != value else bound",
        "return bound",
        "test_arguments.py test_adversary_sessions.py",
    ),
    Mutant(
        "tools-show-what-is-hidden",
        "shown = [one for one in parameters if not one.hidden]",
        "shown = [*parameters]",
        "test_mcp.py",
        "shows_what or room",
    ),
    Mutant(
        "tools-refuse-guessed-names",
        "for name in (one.name, *one.also)}\n    found: dict",
        "for name in (one.name,)}\n    found: dict",
        "test_arguments.py",
        "guess",
    ),
    Mutant(
        "tool-takes-true-for-one",
        "if isinstance(value, bool) or (isinstance(value, float) and not value.is_integer()):",
        "if isinstance(value, float) and not value.is_integer():",
        "test_mcp.py",
        "wrong or argument",
    ),
    Mutant(
        "http-host-that-begins-so",
        "found = _LOOPBACK.fullmatch(authority)",
        "found = _LOOPBACK.match(authority)",
        "test_mcp_http.py",
    ),
    Mutant(
        "http-beginning-of-a-token",
        "if not secrets.compare_digest(token.encode(), self._token):",
        "if not self._token.startswith(token.encode()):",
        "test_mcp_http.py",
    ),
)

EVALUATION = (
    Mutant(
        "small-store-is-asked-what-it-lacks",
        "question.relevant.keys() <= held",
        "question.relevant.keys() & held",
        "test_eval_laws.py",
    ),
    Mutant(
        "denied-without-being-right",
        "found = [answer for answer in asked[TIERED] if answer.measures.mrr10]",
        "found = asked[TIERED]",
        "test_sizes.py",
        "denied",
    ),
    Mutant(
        "left-out-set-has-its-say",
        "[other for other in points if other is not one]",
        "points",
        "test_sizes.py",
        "effort",
    ),
)

INSTALLING = (
    Mutant(
        "a-strangers-script-is-registered",
        "if script.is_file() and os.access(script, os.X_OK) and not foreign(str(script)):",
        "if script.is_file() and os.access(script, os.X_OK):",
        "test_installation.py",
    ),
    Mutant(
        "extras-that-are-there-are-lost",
        "sorted({*present, extra})",
        "[extra]",
        "test_installation.py",
        "stay",
    ),
    Mutant(
        "any-file-is-the-model",
        "if known.get(digest.hexdigest()) != size:",
        "if size > most:",
        "test_install.py",
        "not_the_model or wrong_download",
    ),
    Mutant(
        "an-archive-is-read-to-its-end",
        "            if size > most:\n                break\n            digest",
        "            digest",
        "test_install.py",
        "bomb",
    ),
    Mutant(
        "a-running-install-is-swept",
        "if became is Fate.ENDED or (became is Fate.ELSEWHERE and old):",
        "if became is not Fate.ELSEWHERE or old:",
        "test_install.py",
        "still_runs",
    ),
)

WORDS = (
    Mutant(
        "a-changed-memory-is-overwritten",
        "            raise _Changed\n",
        "            return Saved(former.memory, known=True)\n",
        "test_tags.py",
    ),
    Mutant(
        "any-memory-is-similar",
        "id != besides and share >= IN_COMMON}",
        "id != besides}",
        "test_tags.py",
        "similar",
    ),
    Mutant(
        "half-of-the-other-is-enough",
        ">= 2 * IN_COMMON",
        ">= IN_COMMON",
        "test_tags.py",
        "similar",
    ),
    Mutant("a-template-is-a-twin", " and not _apart(memory, other)", "", "test_tags.py", "titles"),
    Mutant(
        "a-series-is-a-twin",
        "twins[0] if len(twins) == 1 else None",
        "twins[0] if twins else None",
        "test_tags.py",
        "series",
    ),
    Mutant("this-machine-is-elsewhere", "(localhost|127", "(host|127", "test_calls.py"),
    Mutant("an-unset-line-stays", "lines[at] = _commented(key) + end", "lines[at] = lines[at]", "test_edit.py"),
)

USING = (*SESSIONS_AND_RUNS, *FILES, *SETTINGS, *FACES, *EVALUATION, *INSTALLING, *WORDS)
