-- What writers who wait hand over to whoever holds the row "store", and what came of it. Only a running save needs it:
-- after a crash, with which all saves end, it is empty.
create unlogged table handed (
    id      bigint primary key,                       -- at random
    form    integer not null,                         -- of the entry: see `memory.write.handover`
    since   timestamptz not null default clock_timestamp(),
    alone   boolean not null default false,           -- its own writer writes it
    entry   text collate "C",                         -- null once it is written, as the two below
    vectors bytea,
    outcome text collate "C"                          -- null until it is written
) with (toast_tuple_target = 8160);                   -- in the row: nothing is compressed, or kept beside it

create index handed_by_time on handed (since);

-- Take the row "store", and with it what others handed over.
-- `own` is what the caller handed over itself and waits for, 0 if nothing; null takes the row only if nobody has it.
-- The caller's own row comes first: none if the row is taken; without outcome if it is the caller's turn; else what it
-- handed over is written, and nobody waits for it any more. `free`: nobody had the row. `over`: something in the trash is,
-- at the moment `present`. `queued`: chunks wait for their vectors. `followed`: the server waits for standbys.
-- Who waits stands in the line of an advisory lock ("memr"): to be woken there, and to let the next one pass, costs less
-- than at the row, where others who write wait too.
-- Index scans: a server that has no numbers of this table yet would read all of it, with what was removed.
create function turn(own bigint, known integer, most integer, present text)
returns table (
    id bigint, entry text, vectors bytea, outcome text, free boolean, over boolean, queued boolean, followed boolean
)
language plpgsql set enable_seqscan = off as $$
#variable_conflict use_column
declare
    place constant bigint := 1835363954;
    became text;
    unheld boolean;
begin
    update state set writes = writes + 1
    where name = (select name from state where name = 'store' for update skip locked);
    unheld := found;
    if not unheld then
        if own is null then
            return;
        end if;
        perform pg_advisory_lock(place);
        select outcome into became from handed where id = own;
        if became is null then  -- until the end of the transaction
            perform pg_advisory_xact_lock(place);
        end if;
        perform pg_advisory_unlock(place);
        if became is null then
            update state set writes = writes + 1 where name = 'store';
        end if;
    end if;
    if own is not null then
        if became is null then  -- it may have been written by one who did not have to wait
            select outcome into became from handed where id = own;
        end if;
        delete from handed where id = own or since < clock_timestamp() - interval '1 hour';  -- of those who died
    end if;
    return query select own, null::text, null::bytea, became, unheld,
        exists (select from trash where until <= present), exists (select from embed_queue),
        current_setting('synchronous_standby_names') <> '';
    if became is null then
        return query
            select id, entry, vectors, null::text, null::boolean, null::boolean, null::boolean, null::boolean
            from handed where outcome is null and not alone and form = known
            order by since limit most for update skip locked;
    end if;
end $$;
