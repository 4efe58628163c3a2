-- Vectors of the first windows of chunks that have too many to be embedded at once. They answer no search.

create table begun (
    chunk_id   integer not null references chunks on delete cascade,
    generation integer not null references generations on delete cascade,
    first      integer not null,                      -- number of the first window, from 0
    stamp      integer not null,                      -- of the text that is embedded
    windows    integer not null,
    embeddings blob not null,                         -- float32, little-endian: a row of the dimension for each window
    primary key (chunk_id, generation, first)
) strict, without rowid;

create index begun_by_generation on begun (generation);
