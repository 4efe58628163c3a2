-- That this store is filled from another by `memory migrate`, or was and has not been changed since.
-- Until it ends nobody else changes memories: what was not there would be taken away again.
create table arrival (
    id     integer primary key check (id = 1),
    source text collate "C" not null,
    run    text collate "C" not null,                 -- at random: whoever fills it now
    ended  boolean not null
);

create function arrival_changed() returns trigger language plpgsql as $$
begin
    if exists (select 1 from arrival where not ended) then
        raise exception 'it is being filled by `memory migrate`; let that end, or run it again';
    end if;
    delete from arrival;
    return null;
end $$;

create trigger arrival_at_memories before insert or delete on memories
for each statement execute function arrival_changed();

-- Every other change of memories and of the graph is noted as a step.
create trigger arrival_at_steps before insert or delete on steps
for each statement execute function arrival_changed();
