-- Turns are counted: by a sequence, since everybody sees at once what it gives.
create unlogged sequence turns;

-- Hand over an entry as `own`, and wait until it is written, or until nobody else has the next turn.
-- `outcome`: null if the caller has the next turn, and with it the lock `held`, of the session, for `turn`. `queued`: chunks
-- wait for their vectors. `followed`: the server waits for standbys.
-- Whoever comes first after a turn has begun has the next one: it takes the advisory lock of that turn, of two that are
-- taken by turns ("memr", "mems"). All others wait for that lock, together: who has the turn writes what they handed over,
-- and they are woken at once when it is done. Who was passed over again and again stands in line for the lock.
-- Not in a transaction: others are to see what is handed over, and whoever hears of an outcome has nothing to end.
create procedure hand_over(
    own bigint, known integer, given text, embedded bytea, patience text,
    inout outcome text, inout held bigint, inout queued boolean, inout followed boolean
)
language plpgsql as $$
#variable_conflict use_column
declare
    place constant bigint := 1835363954;
    next bigint;
    became text;
begin
    insert into handed (id, form, entry, vectors) values (own, known, given, embedded);
    commit;
    perform set_config('lock_timeout', patience, true), set_config('enable_seqscan', 'off', true);
    for passed in 0 .. 4 loop
        select place + last_value % 2 into next from turns;
        if passed = 4 then
            perform pg_advisory_lock(next);
        else
            exit when pg_try_advisory_lock(next);
            perform pg_advisory_lock_shared(next);
            perform pg_advisory_unlock_shared(next);
        end if;
        select outcome into became from handed where id = own;
        if became is not null then
            if passed = 4 then
                perform pg_advisory_unlock(next);
            end if;
            delete from handed where id = own;
            exit;
        end if;
    end loop;
    outcome := became;
    held := case when became is null then next end;
    queued := exists (select from embed_queue);
    followed := current_setting('synchronous_standby_names') <> '';
end $$;

-- Take the row "store", and with it what others handed over. Programs of a former version ask for the function of script 6.
-- `own` is what the caller handed over itself, 0 if nothing; null takes the row only if nobody has it. `held` is a lock that
-- the caller has, which ends with the transaction.
-- The caller's own row comes first: none if the row is taken; with an outcome if what it handed over was written after all.
-- `free`: nobody had the row. `over`: something in the trash is, at the moment `present`. `queued`, `followed`: as above.
-- Index scans: a server that has no numbers of these tables yet would read all of them, with what was removed. And nothing is
-- asked for by a time that changes meanwhile, for which no index is of use.
create function turn(own bigint, known integer, most integer, present text, held bigint)
returns table (
    id bigint, entry text, vectors bytea, outcome text, free boolean, over boolean, queued boolean, followed boolean
)
language plpgsql set enable_seqscan = off as $$
#variable_conflict use_column
declare
    became text;
    unheld boolean;
begin
    if held is not null then
        perform pg_advisory_xact_lock(held);
        perform pg_advisory_unlock(held);
    end if;
    update state set writes = writes + 1
    where name = (select name from state where name = 'store' for update skip locked);
    unheld := found;
    if not unheld then
        if own is null then
            return;
        end if;
        update state set writes = writes + 1 where name = 'store';
    end if;
    if own <> 0 then
        delete from handed where id = own returning outcome into became;
    end if;
    return query select own, null::text, null::bytea, became, unheld,
        exists (select from trash where until <= present), exists (select from embed_queue),
        current_setting('synchronous_standby_names') <> '';
    if became is null then
        perform nextval('turns');
        delete from handed where since < statement_timestamp() - interval '1 hour';  -- of those who died
        return query
            select id, entry, vectors, null::text, null::boolean, null::boolean, null::boolean, null::boolean
            from handed where outcome is null and not alone and form = known
            order by since limit most for update skip locked;
    end if;
end $$;
