"""Results about vectors, settings and state, as dictionaries that become JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memory.operations.render.data import document, notices, row

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memory.config.adopt import Adoption, Change
    from memory.config.config import Config
    from memory.engine.status import Finding, Status
    from memory.schema.holder import Backfilled, Held
    from memory.schema.space import Call, Space
    from memory.write.reindex import Forecast, Reindexed, RolledBack

    Asked = tuple[Space | None, Forecast | None]


def backfilled(result: Backfilled) -> dict[str, Any]:
    values = row(result, "embedded:number failed:number left:number error model")
    return document("embed", values | {"held": [_held(one) for one in result.held]})


def _held(found: Held) -> dict[str, Any]:
    process = None if found.holder is None else found.holder.process
    return {"chunks": found.chunks, "process": process, "fate": found.fate, "until": found.until.isoformat()}


def reindexed(result: Reindexed) -> dict[str, Any]:
    return document("reindex", row(result, "before:text? after embedded:number failed:number error exchanged:flag"))


def rolled_back(result: RolledBack) -> dict[str, Any]:
    return document("rollback", row(result, "before after missing:number"))


def estimate(found: Forecast) -> dict[str, Any]:
    return document("forecast", found._asdict())


def configured(file: str, changes: Mapping[str, object], space: Space | None, plan: Forecast | None) -> dict[str, Any]:
    values = {
        "file": file,
        "settings": dict(changes),
        "space": space and space._asdict(),
        "reindex": plan and plan._asdict(),
    }
    return document("config-set", values)


def adopted(
    file: str, found: Adoption, rows: Sequence[Change], *, config: Config, dry_run: bool, asked: Asked
) -> dict[str, Any]:
    """
    The result of importing another program's settings file.

    Args:
        rows: What is written: its own settings, and what another provider makes of the model's.
        config: The settings with the changes.
        asked: The space of the model and what a reindex to it would take, if it was asked.
    """
    space, plan = asked
    values = {
        "file": file,
        "dry_run": dry_run,
        "settings": [row._asdict() for row in rows],
        "secrets": [{"named": one.named, "variable": one.variable(config)} for one in found.secrets],
        "unknown": [{"named": key, "nearest": suggestion or None} for key, suggestion in found.unknown],
        "notices": notices(found.notices),
        "space": space and space._asdict(),
        "reindex": plan and plan._asdict(),
    }
    return document("config-import", values)


def ledger(found: Sequence[Call]) -> dict[str, Any]:
    lines = [call._asdict() | {"moment": call.moment.isoformat(), "cost": round(call.cost, 6)} for call in found]
    return document("ledger", {"lines": lines})


def doctor(findings: Sequence[Finding]) -> dict[str, Any]:
    well = all(found.well for found in findings)
    return document("doctor", {"well": well, "findings": [found._asdict() for found in findings]})


COUNTS = (
    "bytes:number memories:number superseded:number chunks:number queued:number failed:number last_error:text? "
    "waiting_memories:number failed_memories:number kinds:object projects:object"
)
GENERATION = "id:number provider=space.provider model=space.model recipe=space.recipe:number dimension=space.dimension:number state"


def _sent(today: Sequence[Call]) -> dict[str, Any]:
    """The sums of requests to servers."""
    sent = [call for call in today if call.host]
    return {
        "calls": sum(call.calls for call in sent),
        "tokens": sum(call.tokens for call in sent),
        "bytes_out": sum(call.bytes_out for call in sent),
        "cost": round(sum(call.cost for call in sent), 6),
    }


def status(found: Status, database: str) -> dict[str, Any]:
    return document(
        "status",
        {
            "database": database,
            **row(found.counts, COUNTS),
            "configured": found.configured or None,
            "generations": [
                row(generation, GENERATION) | {"filled": embedded} for generation, embedded in found.generations
            ],
            "lexicon": None if found.fit is None else {"terms": found.terms, "fit": round(found.fit, 4)},
            "failures": [
                failure._asdict() | {"tried_at": failure.tried_at and failure.tried_at.isoformat()}
                for failure in found.failures
            ],
            "today": _sent(found.today),
            "problems": notices(found.problems),
        },
    )
