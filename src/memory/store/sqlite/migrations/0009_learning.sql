-- Term vectors learn from each vector as it is stored. Those of the former kind cannot go on: they are made anew.

drop table lexicon_terms;
drop table lexicons;

create table lexicons (
    generation integer primary key references generations on delete cascade,
    passages   integer not null,                      -- chunks it learned from
    fit        real not null,
    terms      integer not null default 0,            -- rows of lexicon_terms, kept up to date by triggers
    axes       integer not null,
    basis_sum  integer,                               -- crc32 of the basis, if there is a row of lexicon_axes
    spread     blob not null                          -- float64, little-endian, for each axis
) strict;

-- By itself: it stays as it is when the row above changes, with every vector.
create table lexicon_axes (
    generation integer primary key references lexicons on delete cascade,
    basis      blob not null                          -- float32, little-endian: a row of the dimension for each axis
) strict;

-- Rows in the order in which terms are first met: those of a text's common words then stand on few pages.
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

-- What ends in a word that no chunk holds any more must be found as fast as what begins with it.
create index lexicon_terms_by_end on lexicon_terms (generation, substr(term, instr(term, ' ') + 1))
where instr(term, ' ') > 0;

create trigger lexicon_term_added after insert on lexicon_terms begin
    update lexicons set terms = terms + 1 where generation = new.generation;
end;

create trigger lexicon_term_removed after delete on lexicon_terms begin
    update lexicons set terms = terms - 1 where generation = old.generation;
end;

-- Chunks with a vector in a generation that its term vectors did not learn from yet; all, if there is no lexicon.
create table lexicon_lessons (
    generation integer not null references lexicons on delete cascade,
    chunk_id   integer not null references chunks on delete cascade,
    primary key (generation, chunk_id)
) strict, without rowid;

create index lexicon_lessons_by_chunk on lexicon_lessons (chunk_id);

-- The pairs of words that each of the last chunks was the first to say: a pair is learned from its second mention.
create table lexicon_pairs (
    id         integer primary key,
    generation integer not null references lexicons on delete cascade,
    chunk_id   integer not null references chunks on delete cascade,
    pairs      blob not null                          -- crc32 of each, little-endian
) strict;

create index lexicon_pairs_by_generation on lexicon_pairs (generation);
create index lexicon_pairs_by_chunk on lexicon_pairs (chunk_id);
