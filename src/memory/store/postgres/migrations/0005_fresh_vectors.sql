-- Whoever writes a vector says whose it is; a move does not. While there is an index of a generation's vectors, new ones
-- are compared by themselves and come into it later: see `memory.store.postgres.nearest`.
do $$
declare
    generation bigint;
begin
    for generation in select id from generations loop
        execute format('drop trigger vectors_%s_owned on vectors_%s', generation, generation);
        execute format('create trigger vectors_%s_owned before insert on vectors_%s
                        for each row when (new.memory_id is null) execute function vectors_owned()', generation, generation);
        execute format('alter table vectors_%s add column fresh boolean not null default false', generation);
        execute format('create index vectors_%s_fresh on vectors_%s (id) where fresh', generation, generation);
        execute format('drop index if exists vectors_%s_nearest', generation);
    end loop;
end $$;
