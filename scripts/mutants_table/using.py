"""Mistakes in what is offered: sessions, runs, files, settings, commands, tools."""

from __future__ import annotations

from mutants_table.mutant import Mutant

SESSIONS_AND_RUNS = (
    Mutant("resume-before-the-iteration", "search.context:resume", "<=", "<", "test_sessions.py"),
    Mutant(
        "sessions-by-time-first",
        "store.memories:_ITERATION",
        'coalesce(m.session_iter, 0)", "m.created_at',
        'm.created_at", "coalesce(m.session_iter, 0)',
        "test_stores.py",
        "sqlite and TestSessions",
    ),
    Mutant(
        "threshold-leaves-out-the-unknown",
        "tools.sessions.texts:Texts._reaching",
        "hit.similarity is None or hit.similarity",
        "(hit.similarity or 0.0)",
        "test_seed_a.py",
        "threshold or similarity",
    ),
    Mutant(
        "cleanup-deletes-for-any-no",
        "tools.sessions.use:cleanup_old_memories",
        "dry_run is not False",
        "bool(dry_run)",
        "test_seed_d.py",
        "cleaning",
    ),
    Mutant(
        "document-beside-the-folder",
        "engine.markdown:_place",
        "target.is_relative_to(root",
        "str(target).startswith(str(root)",
        "test_sessions.py",
    ),
    Mutant("run-sees-all-runs", "tools.research.rows:scope", "() if run is None else (run,)", "", "test_research.py"),
    Mutant(
        "clear-takes-all-of-a-run",
        "keep.removing:clear_run",
        "kinds=frozenset(RESEARCH_KINDS), runs",
        "runs",
        "test_stores.py",
        "sqlite and TestRuns",
    ),
    Mutant("feedback-kept-twice", "keep.entry:entry", "rule.one if rule.renewed else (", "(", "test_research.py"),
)

FILES = (
    Mutant(
        "import-forgets-how-often",
        "store.records:new_values",
        ',\n        "access_count": old.access_count,\n        "',
        ',\n        "',
        "test_stores.py test_cli.py test_edges.py",
        "not [ram",
    ),
    Mutant(
        "import-takes-any-zone-for-utc",
        "keep.jsonl:_moment",
        "astimezone(",
        "replace(tzinfo=",
        "test_cli.py test_edges.py test_adversary.py test_values.py",
    ),
    Mutant(
        "time-in-its-own-zone", "schema.errors:iso", "astimezone(UTC).", "", "test_values.py test_stores.py", "not [ram"
    ),
    Mutant(
        "percentile-one-lower",
        "engine.statistics:percentile",
        "-(-percent * len(ordered) // 100)",
        "percent * len(ordered) // 100",
        "test_statistics.py",
    ),
    Mutant("watch-deletes-at-first-sight", "tools.watch:Watched._without_file", "not new and", "", "test_watch.py"),
    Mutant(
        "watch-empties-with-its-disk",
        "tools.watch:Watched.look",
        "self.prune and bool(names)",
        "self.prune",
        "test_watch.py",
    ),
)

SETTINGS = (
    Mutant(
        "config-other-names-first",
        "config:load",
        "variable(key), *ALIASES.get(key, ()",
        "*ALIASES.get(key, ()), variable(key",
        "test_adopt.py",
    ),
    Mutant(
        "config-environment-before-flag",
        "config:located",
        'file or env.get("MEMORY_CONFIG")',
        'env.get("MEMORY_CONFIG") or file',
        "test_config.py test_cli.py",
    ),
    Mutant("config-suggests-no-section", "config:with_setting", ".rpartition('.')[2]", "", "test_config.py"),
    Mutant(
        "setup-takes-what-users-added",
        "agents.edits:Server.insert",
        ")\n            return replaced",
        ")\n        return replaced",
        "test_setup.py",
    ),
    Mutant(
        "file-over-what-came-meanwhile",
        "config.files:new_file",
        ")\n            if check is not None:\n                check()\n            if",
        ")\n            if",
        "test_setup.py test_writing.py",
    ),
    Mutant(
        "file-open-to-all",
        "config.files:_make_like",
        "former.st_mode & 0o777",
        "0o644",
        "test_setup.py test_writing.py",
    ),
    Mutant(
        "setup-finds-what-it-made",
        "agents.setup_files:_ours_alone",
        'standing is not None and standing.install("", force=True) == text',
        "False",
        "test_setup.py",
    ),
    Mutant(
        "setup-leaves-empty-objects",
        "agents.edits:JsonEdit.uninstall",
        "(document if before is None else self._swept(document, self._document(before)))",
        "document",
        "test_setup.py",
    ),
    Mutant("setup-takes-comments-behind", "agents.toml:_without", "section.rest", '""', "test_setup.py"),
)

FACES = (
    Mutant("exit-settings-as-failure", "cli.__init__:main", "(ConfigError, Invalid)", "Invalid", "test_cli.py"),
    Mutant("json-error-among-the-output", "cli.__init__:_report", "), err=True", ")", "test_cli.py"),
    Mutant("hook-stops-the-session", "cli.agents:_told", "return 1", "return 2", "test_hook.py"),
    Mutant(
        "hook-reminds-at-once",
        "tools.hook:ended",
        "None or time.time() - since < QUIET_SECONDS",
        "None",
        "test_hook.py",
    ),
    Mutant(
        "two-hooks-speak-at-one-start",
        "tools.hook:begun",
        "call.session and not _first(_mark(call.session, config.folder))",
        "False",
        "test_hook.py",
        "start",
    ),
    Mutant(
        "hook-reminds-for-ever",
        "tools.hook:call",
        'found.get("stop_hook_active") is True or found',
        "found",
        "test_hook.py",
    ),
    Mutant(
        "capture-without-being-asked",
        "agents.setup_files:_hooks",
        "event.capture and not capture",
        "False",
        "test_setup.py",
        "capture",
    ),
    Mutant("capture-takes-a-question", "carry.cues:cue", '"?") or _ASKED.match(plain', "'?'", "test_cues.py"),
    Mutant(
        "capture-takes-a-supposition",
        "carry.cues:_counts",
        '_SUPPOSED.search(until)\n        or "',
        '"',
        "test_cues.py",
    ),
    Mutant(
        "capture-takes-a-condition",
        "carry.cues:_counts",
        ")\n        or _WHEN.search(before)",
        ")\n       ",
        "test_cues.py",
    ),
    Mutant(
        "capture-takes-what-others-say",
        "carry.cues:_counts",
        "plain\n        or _REPORTED.search(before)",
        "plain\n       ",
        "test_cues.py",
    ),
    Mutant(
        "capture-takes-what-holds-for-now",
        "carry.cues:_counts",
        "one.lasting and one.sort != CAUSE",
        "False",
        "test_cues.py",
    ),
    Mutant(
        "capture-trusts-the-assistant",
        "carry.cues:_found",
        "(one.assistant and sentence.exact)",
        "one.assistant",
        "test_cues.py",
    ),
    Mutant(
        "capture-takes-orders-to-agents", "carry.cues:cue", "found and orders(sentence.text)", "False", "test_cues.py"
    ),
    Mutant("capture-takes-quotations", "carry.cues:_cut", "(put_away", "(lambda one: one[0]", "test_cues.py"),
    Mutant(
        "capture-takes-what-was-pasted",
        "carry.cues:sentences",
        "blocks = [blocks[0], blocks[-1]]",
        "pass",
        "test_cues.py",
    ),
    Mutant(
        "capture-takes-what-was-refuted", "carry.review:_of", "former[ASSISTANT].clear()", "pass", "test_capture.py"
    ),
    Mutant("capture-takes-what-was-taken-back", "carry.review:_of", "former[USER].clear()", "pass", "test_capture.py"),
    Mutant("capture-keeps-secrets", "carry.review:_found", "clean(turn.text)", "turn.text", "test_review.py"),
    Mutant("capture-reads-all", "carry.review:_end", "size - MOST", "0", "test_capture.py"),
    Mutant(
        "capture-proposes-what-is-kept",
        "engine.review:_unkept",
        "if said_already(engine.store, one.what, one.project) is None",
        "",
        "test_review.py",
    ),
    Mutant("capture-hides-a-contradiction", "search.similar:_differs", "text) is", "theirs) is", "test_review.py"),
    Mutant(
        "review-forgets-what-was-dropped",
        "carry.review:Review.settle",
        "]\n            settled.append(id)\n\n        self",
        "]\n\n        self",
        "test_review.py",
    ),
    Mutant(
        "review-keeps-what-was-dropped",
        "carry.review:Review.settle.change",
        "one for one in waiting if one.id != id",
        "*waiting",
        "test_review.py",
    ),
    Mutant("mcp-always-structured", "mcp.server:_result", ") if structured else None", ")", "test_mcp_text.py"),
    Mutant("mcp-failure-looks-done", "mcp.server:_result", "=failed", "=False", "test_mcp.py"),
    Mutant(
        "tool-takes-the-bound-always",
        "tools.arguments:_bounded",
        "None if one.strict and bound != value else bound",
        "bound",
        "test_arguments.py test_adversary_sessions.py",
    ),
    Mutant(
        "tools-show-what-is-hidden",
        "tools.arguments:described",
        "one for one in parameters if not one.hidden",
        "*parameters",
        "test_mcp.py",
        "shows_what or room",
    ),
    Mutant("tools-refuse-guessed-names", "tools.arguments:_fields", ", *one.also", ",", "test_arguments.py", "guess"),
    Mutant(
        "tool-takes-true-for-one",
        "tools.arguments:_bounded",
        "bool) or (isinstance(value, float) and not value.is_integer()",
        "float) and not value.is_integer(",
        "test_mcp.py",
        "wrong or argument",
    ),
    Mutant("http-host-that-begins-so", "engine.keeper:loopback", "fullmatch", "match", "test_mcp_http.py"),
    Mutant(
        "http-beginning-of-a-token",
        "mcp.http:_Verifier.verify_token",
        "secrets.compare_digest(token.encode(), self._token",
        "self._token.startswith(token.encode()",
        "test_mcp_http.py",
    ),
)

EVALUATION = ()

INSTALLING = (
    Mutant(
        "a-strangers-script-is-registered",
        "agents.command:_program",
        ") and not foreign(str(script))",
        ")",
        "test_installation.py",
    ),
    Mutant(
        "extras-that-are-there-are-lost",
        "config.installation:adding",
        "sorted({*present, extra})",
        "[extra]",
        "test_installation.py",
        "stay",
    ),
    Mutant(
        "any-file-is-the-model",
        "vectors.local.install:_copy",
        "known.get(digest.hexdigest()) != size",
        "size > most",
        "test_install.py",
        "not_the_model or wrong_download",
    ),
    Mutant(
        "an-archive-is-read-to-its-end",
        "vectors.local.install:_copy",
        "if size > most:\n                break\n            digest",
        "digest",
        "test_install.py",
        "bomb",
    ),
    Mutant(
        "a-running-install-is-swept",
        "vectors.local.install:sweep",
        "Fate.ENDED or (became is Fate.ELSEWHERE and old)",
        "not Fate.ELSEWHERE or old",
        "test_install.py",
        "still_runs",
    ),
)

WORDS = (
    Mutant(
        "a-changed-memory-is-overwritten",
        "keep.save:Writer._replaced",
        "raise _Changed",
        "return Saved(former.memory, known=True)",
        "test_tags.py",
    ),
    Mutant(
        "any-memory-is-similar",
        "search.similar:_near",
        "besides and share >= IN_COMMON",
        "besides",
        "test_tags.py",
        "similar",
    ),
    Mutant(
        "half-of-the-other-is-enough", "search.similar:_both", "2 * IN_COMMON", "IN_COMMON", "test_tags.py", "similar"
    ),
    Mutant(
        "a-template-is-a-twin",
        "search.similar:similar",
        ") and not apart(names(memory), names(other))",
        ")",
        "test_tags.py",
        "titles",
    ),
    Mutant("a-series-is-a-twin", "search.similar:similar", "len(twins) == 1", "twins", "test_tags.py", "series"),
    Mutant("this-machine-is-elsewhere", "schema.space:UsageEntry.stays", "localhost", "host", "test_calls.py"),
    Mutant("an-unset-line-stays", "config.edit:_unset", "_commented(key) + end", "lines[at]", "test_edit.py"),
)

USING = (*SESSIONS_AND_RUNS, *FILES, *SETTINGS, *FACES, *EVALUATION, *INSTALLING, *WORDS)
