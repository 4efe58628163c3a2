-- The signs of the numbers of a vector, in indexes by memory and by project: those of a scope are compared without a look at
-- the vectors. A memory whose project changes has new chunks, and so new vectors.
-- Tables of vectors are written anew; their indexes of nearest vectors are made anew afterwards, by a program that stays.
create or replace function vectors_owned() returns trigger language plpgsql as $$
begin
    select c.memory_id, m.project into new.memory_id, new.project
    from chunks c join memories m on m.id = c.memory_id where c.id = new.chunk_id;
    return new;
end $$;

do $$
declare
    found record;
    extension name;
begin
    select n.nspname into extension
    from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = 'vector';
    for found in select id, dimension from generations loop
        execute format('drop index if exists vectors_%s_nearest', found.id);
        execute format('drop index vectors_%s_by_memory', found.id);
        execute format('alter table vectors_%s add column project text collate "C"', found.id);
        execute format('update vectors_%s v set project = m.project from memories m where m.id = v.memory_id', found.id);
        execute format('alter table vectors_%s add column signature bit(%s) not null
                        generated always as (%I.binary_quantize(embedding)::bit(%2$s)) stored',
                       found.id, found.dimension, extension);
        execute format('create index vectors_%s_by_memory on vectors_%1$s (memory_id, chunk_id, signature)', found.id);
        execute format('create index vectors_%s_by_project on vectors_%1$s (project, memory_id, chunk_id, signature)',
                       found.id);
    end loop;
end $$;

-- With all that is asked to know which memories are in a project.
drop index memories_by_project;
create index memories_by_project on memories (project, updated_at desc) include (id, status);
