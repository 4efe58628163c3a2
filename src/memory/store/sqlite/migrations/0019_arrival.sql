-- That this store is filled from another by `memory migrate`, or was and has not been changed since.
-- Until it ends nobody else changes memories: what was not there would be taken away again.

create table arrival (
    id     integer primary key check (id = 1),
    source text not null,
    run    text not null,                             -- at random: whoever fills it now
    ended  integer not null check (ended in (0, 1))
) strict;

create trigger arrival_at_memory_added before insert on memories when exists (select 1 from arrival) begin
    select raise(abort, 'it is being filled by `memory migrate`; let that end, or run it again')
    from arrival where ended = 0;
    delete from arrival;
end;

create trigger arrival_at_memory_removed before delete on memories when exists (select 1 from arrival) begin
    select raise(abort, 'it is being filled by `memory migrate`; let that end, or run it again')
    from arrival where ended = 0;
    delete from arrival;
end;

-- Every other change of memories and of the graph is noted as a step.
create trigger arrival_at_step before insert on steps when exists (select 1 from arrival) begin
    select raise(abort, 'it is being filled by `memory migrate`; let that end, or run it again')
    from arrival where ended = 0;
    delete from arrival;
end;

create trigger arrival_at_step_undone before delete on steps when exists (select 1 from arrival) begin
    select raise(abort, 'it is being filled by `memory migrate`; let that end, or run it again')
    from arrival where ended = 0;
    delete from arrival;
end;
