-- The signs of the numbers of a vector, in an index by memory: those of a scope are compared without a look at the vectors.
-- Tables of vectors are written anew; their indexes of nearest vectors are made anew afterwards, by a program that stays.
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
        execute format('alter table vectors_%s add column signature bit(%s) not null
                        generated always as (%I.binary_quantize(embedding)::bit(%2$s)) stored',
                       found.id, found.dimension, extension);
        execute format('create index vectors_%s_by_memory on vectors_%1$s (memory_id, chunk_id, signature)', found.id);
    end loop;
end $$;

-- With all that is asked to know which memories are in a project.
drop index memories_by_project;
create index memories_by_project on memories (project, updated_at desc) include (id, status);
