-- Turns are counted: a number of which none is given back, so that everybody sees it at once.
create unlogged sequence turns;

-- Take the row "store", and with it what others handed over: as in script 6, but for who waits where.
-- `own` is what the caller handed over itself and waits for, 0 if nothing; null takes the row only if nobody has it.
-- The caller's own row comes first: none if the row is taken; without outcome if it is the caller's turn; else what it
-- handed over is written, and nobody waits for it any more. `free`: nobody had the row. `over`: something in the trash is,
-- at the moment `present`. `queued`: chunks wait for their vectors. `followed`: the server waits for standbys.
-- Whoever comes first after a turn has begun has the next one: it takes the advisory lock of that turn, of two that are
-- taken by turns ("memr", "mems"), and waits at the row. All others wait for that lock, together: who has the turn writes
-- what they handed over, and they are woken at once when it is done. Who was passed over again and again takes the lock
-- as soon as it is free.
-- Index scans: a server that has no numbers of this table yet would read all of it, with what was removed. For the same
-- reason nothing is asked for by a time that changes meanwhile: no index is of use for that.
create or replace function turn(own bigint, known integer, most integer, present text)
returns table (
    id bigint, entry text, vectors bytea, outcome text, free boolean, over boolean, queued boolean, followed boolean
)
language plpgsql set enable_seqscan = off as $$
#variable_conflict use_column
declare
    place constant bigint := 1835363954;
    next bigint;
    waits integer := 0;
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
        loop
            select place + last_value % 2 into next from turns;
            if waits >= 4 then
                perform pg_advisory_xact_lock(next);
            end if;
            if waits >= 4 or pg_try_advisory_xact_lock(next) then
                update state set writes = writes + 1 where name = 'store';
                -- It may have been written by whoever had the row.
                select outcome into became from handed where id = own;
                exit;
            end if;
            perform pg_advisory_lock_shared(next);
            perform pg_advisory_unlock_shared(next);
            select outcome into became from handed where id = own;
            exit when became is not null;
            waits := waits + 1;
        end loop;
    end if;
    if own is not null then
        delete from handed where id = own;
    end if;
    if became is null then
        perform nextval('turns');
        delete from handed where since < statement_timestamp() - interval '1 hour';  -- of those who died
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
