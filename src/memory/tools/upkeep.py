"""The verbs that look after a memory: how much is saved, its tags, how searches went, what is embedded and what is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from memory.schema.answer import Notice
from memory.schema.errors import EmbedError, Invalid, iso
from memory.schema.query import ACTIVE
from memory.text.display import escape_controls, fenced
from memory.tools.arguments import Parameter
from memory.tools.daily import memory_search
from memory.tools.operation import Call, Given, Option, Result, Shown, command, group, reading, tool
from memory.tools.render import care_text, data
from memory.tools.render.data import document, notices, row
from memory.tools.render.text import counted, notice, plain, table, width

if TYPE_CHECKING:
    from memory.engine import Engine
    from memory.engine.status import Status
    from memory.engine.vectors import Forecast, Reindexed


@reading("State of the memory", "memories:number superseded:number chunks:number queued:number")
def memory_stats(call: Call, _: Given) -> Result:
    """
    How much is saved, with which model, what waits for a vector, what is wrong and how to fix it. Call it when recall
    seems incomplete or the user asks about the memory.
    """
    from memory.tools.render.recall import for_agents  # 4 ms that no command needs

    found = call.engine.maintenance.status()
    values = status(found, call.engine.config.place)
    lines = [care_text.status(found, call.engine.config.place)]
    lines += [f"Note: {problem.text}. {for_agents(problem.hint)}".rstrip() for problem in found.problems]
    return Result(values, fenced("\n".join(lines)))


COUNTS = (
    "bytes:number postings:number memories:number superseded:number chunks:number queued:number failed:number last_error:text? "
    "waiting_memories:number failed_memories:number kinds:object projects:object"
)
GENERATION = "id:number provider=space.provider model=space.model recipe=space.recipe:number dimension=space.dimension:number state"


def status(found: Status, database: str) -> dict[str, Any]:
    """The state of a memory as JSON."""
    sent = [call for call in found.today if call.host]
    return document(
        "status",
        {
            "database": database,
            **row(found.counts, COUNTS),
            "trash": row(found.counts, "memories=trashed:number bytes=trash_bytes:number"),
            "configured": found.configured or None,
            "generations": [
                row(generation, GENERATION) | {"filled": embedded} for generation, embedded in found.generations
            ],
            "lexicon": None
            if found.fit is None
            else {
                "terms": found.terms,
                "fit": round(found.fit, 4),
                "words": found.words,
                "waiting": found.waiting,
            },
            "signatures": found.signed or None,
            "failures": [
                {"id": memory.uid}
                | row(failure, "memory_id=memory:number chunks:number failed:number last_error tried_at:text?")
                for memory, failure in found.failures
            ],
            "today": {
                "calls": sum(call.calls for call in sent),
                "tokens": sum(call.tokens for call in sent),
                "bytes_out": sum(call.bytes_out for call in sent),
                "cost": round(sum(call.cost for call in sent), 6),
            },
            "problems": notices(found.problems),
        },
    )


@tool(
    "Embed everything again",
    "chunks:number embedded:number",
    Parameter("dry_run", "boolean", "Only estimate the work."),
)
def memory_reindex(call: Call, given: Given) -> Result:
    """
    Embed everything with the configured model: once after it was changed, when a note in search results says so. It may
    take minutes and, with a paid server, money: ask the user, and show them `dry_run` first.
    """
    if given.get("dry_run"):
        plan = call.engine.vectors.estimate()
        values = forecast(plan) | {"embedded": 0}
        return Result(values, f"{care_text.takes(plan)}, with {plan.model}.\n")
    result = call.engine.vectors.reindex(call.progress)
    call.engine.vectors.make_words(call.progress)
    values = reindexed(result) | {"chunks": result.embedded + result.failed}
    said = f"{result.embedded:,} chunks embedded; {result.after} answers from now on.\n"
    failed = f"Note: {result.failed:,} were not taken by the model: {result.error}\n" if result.failed else ""
    return Result(values, said + failed)


def forecast(found: Forecast) -> dict[str, Any]:
    """What a reindex would take, as JSON."""
    return document("forecast", found._asdict())


def reindexed(found: Reindexed) -> dict[str, Any]:
    """What a reindex did, as JSON."""
    return document("reindex", row(found, "before:text? after embedded:number failed:number error exchanged:flag"))


@command("stats", Option("--days N", "How far back; by default, everything recorded.", takes=(1, 36_500)))
def stats(call: Call, a: Given) -> Shown:
    """
    Show search statistics: counts, latency, tiers.

    Each search is recorded with its time, type, tier, duration, number of results and the names of its filters, never
    its text. The last 10,000 stay.

    \b
        memory stats --days 7
    """
    found = call.engine.searches.statistics(a["days"])
    values = found._asdict() | {
        "since": found.since and iso(found.since),
        "tiers": [tier._asdict() for tier in found.tiers],
        "types": [type._asdict() for type in found.types],
        "times": [bin._asdict() for bin in found.times],
    }  # times in seconds, shares 0..1; the bins are those of `memory.engine.statistics.bins`
    when = "yet" if a["days"] is None else f"in the last {counted(a['days'], 'day')}"
    return Shown(values, care_text.statistics(found, width()) or f"nothing was searched {when}")


@command("embed", progress="embedding")
def embed(call: Call, _: Given) -> Shown:
    """
    Embed texts that wait for a vector, or that failed before. Texts wait after a time without a model.

    You may interrupt it at any time: the vectors made until then stay.

    \b
        memory embed
    """
    result = call.engine.vectors.embed(call.progress)
    call.engine.vectors.make_words(call.progress)
    left = f", {result.left:,} still wait" if result.left else ""
    by = f" with {result.model}" if result.embedded else ""
    untaken = f"the model refused {counted(result.failed, 'chunk')}: {escape_controls(result.error)}"
    notes = [*map(str, result.held), *([untaken] if result.failed else [])]
    done = f"{counted(result.embedded, 'chunk')} embedded{by}{left}"
    waited = result.embedded or result.left or result.failed
    text = done if waited else "nothing to do: no text waits for a vector"
    values = row(result, "embedded:number failed:number left:number error model")
    held = [
        row(one, "chunks:number")
        | {"process": one.holder and one.holder.process, "fate": one.fate, "until": one.until.isoformat()}
        for one in result.held
    ]
    return Shown(values | {"held": held}, text, notes, code=1 if result.failed else 0)


@command(
    "ledger",
    Option("--days N", "How far back.", takes=(1, 36_500), usual=30),
    Option("--each", "Show every request, not daily sums."),
)
def ledger(call: Call, a: Given) -> Shown:
    """
    Show what was embedded, by which model and at what cost. It also says what for, and how much was sent.

    Every request is recorded before it is sent. 0 bytes means that nothing was sent: the text stayed on this machine,
    in this process.

    \b
        memory ledger --days 7
        memory ledger --each
    """
    found = call.engine.vectors.ledger(a["days"], each=a["each"])
    lines = [one._asdict() | {"moment": one.moment.isoformat(), "cost": round(one.cost, 6)} for one in found]
    nothing = f"nothing was embedded in the last {counted(a['days'], 'day')}; --days looks further back"
    return Shown({"lines": lines}, care_text.ledger(found, each=a["each"]) or nothing)


@command("doctor", Option("--fix", "Repair: rebuild derived data, embed what waits."))
def doctor(call: Call, a: Given) -> Shown:
    """
    Check everything, and with --fix repair it. It checks the database, the model and its vectors, what waits for a
    vector, and whether another program has taken the name `memory`. The exit code is 1 if it finds a problem.

    An embedding server is asked for one vector, even after it failed to answer.

    \b
        memory doctor
        memory doctor --fix
    """
    from memory.config.installation import strangers
    from memory.engine.status import Finding

    found = call.engine.maintenance.doctor(fix=a["fix"])
    found += tuple(Finding("name", False, text, hint) for text, hint in strangers())
    well = all(one.well for one in found)
    values = {"well": well, "findings": [one._asdict() for one in found]}
    return Shown(values, care_text.doctor(found), code=0 if well else 1)


# Tags ----------------------------------------------------------------------------


@group("tags", "list")
def tags() -> None:
    """
    List tags with their counts, or rename one.

    \b
        memory tags
        memory tags --project my-app
        memory tags rename db database
    """


@command(
    "tags list",
    Option("--project [NAME]", "Only of this project; without a name, that of the current folder.", narrows=True),
)
def list_(call: Call, a: Given) -> Shown:
    """
    List tags, most used first.

    \b
        memory tags list --project my-app
    """
    project = a["project"]
    found = call.engine.tags.counted(ACTIVE._replace(projects=frozenset({project})) if project else ACTIVE)
    values = {"tags": [{"tag": tag, "memories": count} for tag, count in found]}
    among = f"of project {plain(project)} " if project else ""
    notes = [] if found else [f"no memory {among}has a tag yet; `memory save` takes them: --tag NAME"]
    return Shown(values, table([(f"{count:,}", plain(tag)) for tag, count in found], right=[0]), notes)


@command("tags rename OLD NEW")
def rename(call: Call, a: Given) -> Shown:
    """
    Rename a tag everywhere, in one step. A memory that has both tags keeps NEW. `memory details` shows what a memory
    had before.

    \b
        memory tags rename db database
    """
    new, count, notices = call.engine.tags.rename(a["old"], a["new"])
    said = f"{plain(a['old'])} is now {plain(new)} on {counted(count, 'memory', 'memories')}"
    values = {"old": a["old"], "new": new, "memories": count, "notices": data.notices(notices)}
    return Shown(values, said, [*map(notice, notices)])


@command("status")
def status_(call: Call, _: Given) -> Shown:
    """
    Show what is stored, what is wrong and how to fix it.

    \b
        memory status
    """
    from memory.config.adopt import beside

    found, config = call.engine.maintenance.status(), call.engine.config
    if not config.begun:
        found = found._replace(counts=found.counts._replace(bytes=0))
    found = found._replace(problems=(*found.problems, *beside(str(Path(call.flags.file).parent), config)))
    notes = [notice(one) for one in found.problems if one not in config.former]  # `settings` has told those
    return Shown(status(found, config.place), care_text.status(found, config.place), notes)


@command(
    "reindex",
    Option("--dry-run", "Only estimate chunks, tokens, cost and time."),
    Option("--rollback", "Return to the vectors before the last reindex."),
    Option("--keep", "Keep the vectors of all earlier models, not only the last."),
    Option("--resume", "Continue an interrupted reindex; this is the default."),
    progress="embedding",
)
def reindex(call: Call, a: Given) -> Shown:
    """
    Embed everything with the configured model. Run it after you change the model.

    Until it is done, searches use the old vectors with their own model. You may interrupt it at any time: the next call
    continues from there. The old vectors stay until the next reindex to another model.

    \b
        memory reindex --dry-run
        memory reindex
    """
    if a["dry_run"] + a["rollback"] + (a["keep"] or a["resume"]) > 1:
        raise Invalid("--dry-run, --rollback and --keep or --resume cannot be combined")
    if a["dry_run"]:
        found = call.engine.vectors.estimate()
        return Shown(forecast(found), care_text.estimate(found))
    return _rolled_back(call.engine) if a["rollback"] else _reindexed(call, keep=a["keep"])


def _reindexed(call: Call, *, keep: bool) -> Shown:
    try:
        result = call.engine.vectors.reindex(call.progress, keep=keep)
        call.engine.vectors.make_words(call.progress)
    except (KeyboardInterrupt, EmbedError):
        call.person.tell([Notice("what was embedded stays; `memory reindex` continues from there")])
        raise
    done = f"{counted(result.embedded, 'chunk')} embedded" if result.embedded else "nothing to do"
    lines = [f"{done}; searches use {result.after}"]
    if result.before not in (None, result.after):
        lines.append(f"before: {result.before}; `memory reindex --rollback` goes back")
    notes = []
    if result.exchanged:
        notes.append("the model behind this name has changed; what the former one had embedded was embedded again")
    if result.failed:
        notes.append(f"the model refused {counted(result.failed, 'chunk')}: {escape_controls(result.error)}")
    return Shown(reindexed(result), "\n".join(lines), notes)


def _rolled_back(engine: Engine) -> Shown:
    result = engine.vectors.roll_back()
    lines = [f"searches use {result.after} again"]
    if result.missing:
        lines.append(f"{counted(result.missing, 'chunk')} saved since then without a vector in it: `memory embed`")
    provider, model, _, dimension = result.after
    wide = f" embedding.dimensions {dimension}" if result.before[:2] == result.after[:2] else ""
    lines += [
        f"to stay with it: memory config set embedding.provider {provider} embedding.model {model}{wide}",
        f"to undo this at once: memory reindex, while the settings name {result.before}",
    ]
    return Shown(document("rollback", row(result, "before after missing:number")), "\n".join(lines))


OPERATIONS = (memory_search, memory_stats, memory_reindex)
COMMANDS = (status_, reindex, stats, embed, ledger, doctor, tags, list_, rename)
