-- Questions that are strangers to a store, embedded in the space of a generation, and how near they come to its vectors.

create table strangers (
    generation integer primary key references generations on delete cascade,
    stamp      integer not null,                      -- of the texts they were made from
    right      real not null,                         -- median cosine of a question with its right answer
    embeddings blob not null                          -- float32, little-endian: a row of the dimension for each
) strict;

-- Beside, because it is written with nearly every vector, and the embeddings are hundreds of kilobytes.
create table nearness (
    generation integer primary key references strangers on delete cascade,
    nearest    blob not null,                         -- float32, little-endian: of each the highest cosine with a vector
    products   real not null,                         -- sum of the cosines of all strangers with all vectors
    loose      integer not null                       -- how many of `nearest` may be too high
) strict;
