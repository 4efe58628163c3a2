-- A vector says whose it is, so that a scope is compared, or passed over in the index, without asking the chunks.
create function vectors_owned() returns trigger language plpgsql as $$
begin
    new.memory_id := (select c.memory_id from chunks c where c.id = new.chunk_id);
    return new;
end $$;

do $$
declare
    generation bigint;
begin
    for generation in select id from generations loop
        execute format('alter table vectors_%s add column memory_id bigint', generation);
        execute format('update vectors_%s v set memory_id = c.memory_id from chunks c where c.id = v.chunk_id', generation);
        execute format('alter table vectors_%s alter column memory_id set not null', generation);
        execute format('create index vectors_%s_by_memory on vectors_%s (memory_id)', generation, generation);
        execute format('create trigger vectors_%s_owned before insert on vectors_%s
                        for each row execute function vectors_owned()', generation, generation);
    end loop;
end $$;

create index superseded_memories on memories (id) where status <> 'active';
