-- Memories and bodies are the truth; everything below them can be rebuilt.

create table memories (
    id            integer primary key autoincrement,  -- never used again: an old id cannot name a new memory
    uid           text not null unique,
    kind          text not null,
    category      text,
    title         text not null,
    what          text not null,
    why           text not null,
    impact        text not null,
    description   text not null,
    tags          text not null check (json_type(tags) = 'array'),
    related_files text not null check (json_type(related_files) = 'array'),
    metadata      text not null check (json_type(metadata) = 'object'),
    project       text,
    source        text,
    agent_id      text,
    session_id    text,
    session_iter  integer,
    task_code     text,
    query_id      text,
    parent_id     integer references memories on delete set null,
    status        text not null default 'active' check (status in ('active', 'superseded')),
    superseded_by integer references memories on delete set null,
    content_hash  text not null,
    created_at    text not null,                      -- ISO 8601, UTC, microseconds: sorts as text
    updated_at    text not null,
    accessed_at   text,
    access_count  integer not null default 0,
    body_size     integer not null                    -- in code points
) strict;

create index memories_by_update on memories (updated_at desc, id desc);
create index memories_by_hash on memories (content_hash);
create index memories_by_project on memories (project, updated_at desc);
create index memories_by_session on memories (session_id, session_iter, agent_id);
create index memories_by_run on memories (query_id, kind);
create index memories_by_parent on memories (parent_id) where parent_id is not null;
create index memories_by_successor on memories (superseded_by) where superseded_by is not null;

create table bodies (
    memory_id integer primary key references memories on delete cascade,
    body      text not null                           -- verbatim; a table of its own keeps `memories` narrow
) strict;

create table history (
    id          integer primary key autoincrement,
    memory_id   integer not null references memories on delete cascade,
    replaced_at text not null,
    record      text not null check (json_type(record) = 'object'),  -- the row of `memories` as it was
    body        text not null
) strict;

create index history_by_memory on history (memory_id, id desc);

create table chunks (
    id          integer primary key autoincrement,    -- never used again: a vector cannot answer for another chunk
    memory_id   integer not null references memories on delete cascade,
    chunk_index integer not null,
    start       integer not null,                     -- code points into the body
    stop        integer not null,
    chunk_type  text not null,
    header_path text not null check (json_type(header_path) = 'array'),
    level       integer not null,
    token_count integer not null,
    heading     text not null,                        -- the header path in words
    tags        text not null,                        -- the memory's tags and files in words, with its first chunk
    files       text not null,
    grams       text not null,                        -- see memory.text.grams
    unique (memory_id, chunk_index)
) strict;

create table counters (
    name  text primary key,
    value integer not null
) strict, without rowid;

insert into counters values ('chunks', 0);            -- count(*) would read the whole table for every search

-- What is indexed for a chunk. Facts about the whole memory stand with its first chunk only, so that a long
-- memory does not look like many that agree. FTS5 lets no view that it reads use a table function such as
-- json_each: 'rebuild' and 'integrity-check' would fail. That is why lists are in words among the chunks.
create view passages as
select c.id,
       c.memory_id,
       m.title,
       c.heading,
       case c.chunk_type when 'head' then m.what else substr(b.body, c.start + 1, c.stop - c.start) end as text,
       iif(c.chunk_index = 0, m.why, '') as why,
       iif(c.chunk_index = 0, m.impact, '') as impact,
       c.tags,
       iif(c.chunk_index = 0, m.category, '') as category,
       iif(c.chunk_index = 0, m.project, '') as project,
       iif(c.chunk_index = 0, m.source, '') as source,
       c.files,
       c.grams
from chunks c
join memories m on m.id = c.memory_id
join bodies b on b.memory_id = c.memory_id;

create virtual table passages_fts using fts5 (
    title, heading, text, why, impact, tags, category, project, source, files, grams,
    content = 'passages', content_rowid = 'id',
    tokenize = 'porter unicode61 remove_diacritics 2'  -- 2: letters with two marks too, as in Vietnamese
);

create virtual table vocabulary using fts5vocab (passages_fts, row);

create trigger chunk_added after insert on chunks begin
    insert into passages_fts
        (rowid, title, heading, text, why, impact, tags, category, project, source, files, grams)
    select id, title, heading, text, why, impact, tags, category, project, source, files, grams
    from passages where id = new.id;
    update counters set value = value + 1 where name = 'chunks';
end;

-- FTS5 forgets a row only when it is told what the row said, so this must come before the row changes.
create trigger chunk_removed before delete on chunks begin
    insert into passages_fts
        (passages_fts, rowid, title, heading, text, why, impact, tags, category, project, source, files, grams)
    select 'delete', id, title, heading, text, why, impact, tags, category, project, source, files, grams
    from passages where id = old.id;
    update counters set value = value - 1 where name = 'chunks';
end;

-- A cascade would remove the chunks after their memory, when the view no longer knows what they said.
create trigger memory_removed before delete on memories begin
    delete from chunks where memory_id = old.id;
end;

create trigger indexed_text_changed before update of
    title, what, why, impact, tags, category, project, source, related_files on memories
when exists (select 1 from chunks where memory_id = old.id)
begin
    select raise(abort, 'remove the chunks before changing what they say');
end;

create trigger body_changed before update on bodies
when exists (select 1 from chunks where memory_id = old.memory_id)
begin
    select raise(abort, 'remove the chunks before changing what they say');
end;

create table generations (
    id        integer primary key autoincrement,
    provider  text not null,
    model     text not null,
    recipe    integer not null,
    dimension integer not null check (dimension > 0),
    state     text not null check (state in ('building', 'active', 'retired')),
    vectors   integer not null default 0,             -- how many `total` is the sum of
    total     blob not null,                          -- float64, little-endian: the mean is what centring needs
    changes   integer not null default 0,             -- how often its vectors changed: says whether a copy is current
    created_at text not null
) strict;

create unique index one_active_generation on generations (state) where state = 'active';
create unique index one_building_generation on generations (state) where state = 'building';

-- Chunks without a vector in the active generation. (`vectors_<id>` tables are made with their generation.)
create table embed_queue (
    chunk_id   integer primary key references chunks on delete cascade,
    attempts   integer not null default 0,
    last_error text not null default '',
    tried_at   text
) strict;
