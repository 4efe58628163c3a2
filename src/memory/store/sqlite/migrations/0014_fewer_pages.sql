-- A save that learns writes whole pages of 8 KB: the fewer trees it touches, the fewer pages.

drop index lexicon_pairs_by_generation;                -- few other rows than those of one generation

-- A lesson is written and taken away by the same save. Chunks that go find it by the beginning of the key.
create table lessons_by_chunk (
    chunk_id   integer not null references chunks on delete cascade,
    generation integer not null references lexicons on delete cascade,
    primary key (chunk_id, generation)
) strict, without rowid;

insert into lessons_by_chunk (chunk_id, generation)
select chunk_id, generation from lexicon_lessons
where chunk_id in (select id from chunks) and generation in (select generation from lexicons);  -- perhaps it is damaged

drop table lexicon_lessons;
alter table lessons_by_chunk rename to lexicon_lessons;
