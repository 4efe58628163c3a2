-- Term vectors that are learned again stand beside those that answer, under minus the number of the generation.

alter table lexicons rename to old_lexicons;
alter table lexicon_axes rename to old_lexicon_axes;
alter table lexicon_terms rename to old_lexicon_terms;
alter table lexicon_pairs rename to old_lexicon_pairs;
alter table lexicon_lessons rename to old_lexicon_lessons;

create table lexicons (
    generation integer primary key,                   -- or minus that: all is learned again, beside those that answer
    made_of    integer generated always as (abs(generation)) stored references generations on delete cascade,
    passages   integer not null,                      -- chunks it learned from
    fit        real not null,
    terms      integer not null default 0,            -- rows of lexicon_terms, kept up to date by triggers
    axes       integer not null,
    basis_sum  integer,                               -- crc32 of the basis, if there is a row of lexicon_axes
    spread     blob not null,                         -- float64, little-endian, for each axis
    words      integer not null default 0,            -- word vectors there were when learning began
    along      real not null default 0,               -- two sums over passages: how far they count
    square     real not null default 0
) strict;

create table lexicon_axes (
    generation integer primary key references lexicons on delete cascade,
    basis      blob not null                          -- float32, little-endian: a row of the dimension for each axis
) strict;

create table lexicon_terms (
    id         integer primary key,
    generation integer not null references lexicons on delete cascade,
    term       text not null,                         -- one stem, or two with a blank between them
    passages   integer not null,                      -- chunks that hold it
    last       integer not null,                      -- which was the last of these
    met        real not null,                         -- sum of the squares of its weights
    scale      real not null,
    code       blob not null,                         -- an int8 for each axis
    unique (generation, term)
) strict;

create table lexicon_pairs (
    id         integer primary key,
    generation integer not null references lexicons on delete cascade,
    chunk_id   integer not null references chunks on delete cascade,
    pairs      blob not null                          -- crc32 of each, little-endian
) strict;

create table lexicon_lessons (
    chunk_id   integer not null references chunks on delete cascade,
    generation integer not null references lexicons on delete cascade,
    primary key (chunk_id, generation)
) strict, without rowid;

-- Perhaps it is damaged: what has no parent stays behind, and is learned again.
insert or ignore into lexicons (generation, passages, fit, terms, axes, basis_sum, spread, words, along, square)
select generation, passages, fit, terms, axes, basis_sum, spread, words, along, square from old_lexicons
where generation in (select id from generations);

insert or ignore into lexicon_axes (generation, basis)
select generation, basis from old_lexicon_axes
where generation in (select generation from lexicons);

insert or ignore into lexicon_terms (id, generation, term, passages, last, met, scale, code)
select id, generation, term, passages, last, met, scale, code from old_lexicon_terms
where generation in (select generation from lexicons);

insert or ignore into lexicon_pairs (id, generation, chunk_id, pairs)
select id, generation, chunk_id, pairs from old_lexicon_pairs
where generation in (select generation from lexicons) and chunk_id in (select id from chunks);

insert or ignore into lexicon_lessons (chunk_id, generation)
select chunk_id, generation from old_lexicon_lessons
where generation in (select generation from lexicons) and chunk_id in (select id from chunks);

drop table old_lexicon_lessons;
drop table old_lexicon_pairs;
drop table old_lexicon_terms;
drop table old_lexicon_axes;
drop table old_lexicons;

create index lexicons_by_generation on lexicons (made_of);

create index lexicon_terms_by_end on lexicon_terms (generation, substr(term, instr(term, ' ') + 1))
where instr(term, ' ') > 0;

create trigger lexicon_term_added after insert on lexicon_terms begin
    update lexicons set terms = terms + 1 where generation = new.generation;
end;

create trigger lexicon_term_removed after delete on lexicon_terms begin
    update lexicons set terms = terms - 1 where generation = old.generation;
end;

create index lexicon_pairs_by_chunk on lexicon_pairs (chunk_id);
