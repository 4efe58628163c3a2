-- A vector for each term of a store, learned from those of one generation, so that the model need not be asked.

create table lexicons (
    generation integer primary key references generations on delete cascade,
    passages   integer not null,
    last       integer not null,
    fit        real not null,
    learned_at text not null,
    axes       integer not null,
    basis      blob not null                          -- float32, little-endian: a row of the dimension for each axis
) strict;

create table lexicon_terms (
    generation integer not null references lexicons on delete cascade,
    term       text not null,                         -- one stem, or two with a blank between them
    scale      real not null,
    code       blob not null,                         -- an int8 for each axis
    primary key (generation, term)
) strict, without rowid;

-- What ends in a word that no chunk holds any more must be found as fast as what begins with it.
create index lexicon_terms_by_end on lexicon_terms (generation, substr(term, instr(term, ' ') + 1))
where instr(term, ' ') > 0;

-- Whether any chunk holds a word: `vocabulary` counts all that do before it says so.
create virtual table occurrences using fts5vocab (passages_fts, instance);
