-- A file of format 8, as its version made it, with something in every table; before term vectors learned, before pins, the
-- trash, steps and authors. Tables first, as that version's scripts laid them out one after the other; then the rows.

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
-- What embedding costs, which hosts give no answer, how a model answered when its vectors were new.

-- float32, little-endian; null if it is not known
alter table generations add column fingerprint blob check (length(fingerprint) = 4 * dimension);

-- Several processes may fill one queue; a claim keeps two of them from embedding, and paying for, the same chunk.
alter table embed_queue add column claimed_until text;

-- A queue may hold every chunk there is; asking for the next few, or for the latest failure, reads only those.
create index embed_queue_by_attempts on embed_queue (attempts, chunk_id, tried_at);
create index embed_queue_by_trial on embed_queue (tried_at) where tried_at is not null;

create table ledger (
    id        integer primary key autoincrement,      -- never used again: a request is settled by its id
    moment    text not null,
    day       text not null as (substr(moment, 1, 10)) virtual,
    provider  text not null,
    model     text not null,
    purpose   text not null,
    host      text not null,                          -- empty: the texts stayed in the process
    calls     integer not null,
    texts     integer not null,
    tokens    integer not null,
    bytes_out integer not null,
    seconds   real not null,
    cost      real not null,                          -- in US dollars
    error     text not null
) strict;

create index ledger_by_moment on ledger (moment);
create index ledger_by_host on ledger (host, day, calls, tokens);  -- all that a budget asks for, without the rows
create unique index one_line_a_day on ledger (day, provider, model, purpose) where host = '';

create table outages (
    host  text primary key,
    until text not null,
    error text not null
) strict, without rowid;
-- What a reader should know of a memory's text, in words: "instructions" if it looks like orders to an agent.

alter table memories add column flags text not null default '';
-- Most scopes can be told from the index alone, so that what is out of scope is not read.

drop index memories_by_update;
create index memories_by_update on memories (
    updated_at desc, id desc,
    kind, status, project, source, category, agent_id, session_id, session_iter, task_code, query_id, created_at
);
-- Research runs and the entity graph. An entity is a memory of its own kind: its observations are its body.

-- Never embedded: found by keyword only, and its text goes to no model.
alter table memories add column keyword_only integer not null default 0 check (keyword_only in (0, 1));

create index keyword_only_memories on memories (id) where keyword_only = 1;

create unique index one_entity_a_name on memories (title) where kind = 'entity';

create table relations (
    source     integer not null references memories on delete cascade,
    target     integer not null references memories on delete cascade,
    type       text not null,
    created_at text not null,
    primary key (source, target, type)
) strict, without rowid;

create index relations_by_target on relations (target, source);

create table entity_memories (
    entity     integer not null references memories on delete cascade,
    memory     integer not null references memories on delete cascade,
    created_at text not null,
    primary key (entity, memory)
) strict, without rowid;

create index entities_by_memory on entity_memories (memory, entity);

create table tool_calls (
    id         integer primary key autoincrement,
    uid        text not null unique,                  -- the same in every export
    query_id   text,
    agent_name text not null,
    tool_type  text not null check (tool_type in ('builtin', 'http', 'mcp')),
    tool_name  text not null,
    parameters text not null,
    result     text not null,
    success    integer not null check (success in (0, 1)),
    timestamp  text not null
) strict;

create index tool_calls_by_run on tool_calls (query_id, id, success, timestamp);  -- counts need not read the results
create index tool_calls_by_agent on tool_calls (agent_name, id);
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
-- Who holds a claim, so that those of a process that has ended are free at once (see memory.holder).
alter table embed_queue add column claimed_by text;

create index embed_queue_by_claim on embed_queue (claimed_until, claimed_by) where claimed_until is not null;

-- What an agent wrote, and what is of a kind, latest first, without reading all that is not.
create index memories_by_agent on memories (agent_id, updated_at desc, id desc, status);
create index memories_by_kind on memories (kind, updated_at desc, id desc, status);
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

-- Two generations of vectors, of 2 numbers each ------------------------------------------------------------------------

create table vectors_1 (
    chunk_id  integer not null references chunks on delete cascade,
    window    integer not null,
    embedding blob not null check (length(embedding) = 4 * 2),
    unique (chunk_id, window)
) strict;

create table vectors_2 (
    chunk_id  integer not null references chunks on delete cascade,
    window    integer not null,
    embedding blob not null check (length(embedding) = 4 * 2),
    unique (chunk_id, window)
) strict;

-- Rows -----------------------------------------------------------------------------------------------------------------

insert into memories (id, uid, kind, category, title, what, why, impact, description, tags, related_files, metadata, project,
                      source, agent_id, session_id, session_iter, task_code, query_id, parent_id, status, superseded_by,
                      content_hash, created_at, updated_at, accessed_at, access_count, body_size, flags, keyword_only)
values (1, '11111111111111111111111111111111', 'note', 'decision', 'We use WAL', 'readers never wait', 'they did', '', '',
        '["db"]', '["store.py"]', '{"by": "hand"}', 'shop', 'cli', null, null, null, null, null, null, 'active', null,
        'h1', '2025-01-01T00:00:00.000000Z', '2025-01-03T00:00:00.000000Z', '2025-02-01T00:00:00.000000Z', 7, 28, '', 0),
       (2, '22222222222222222222222222222222', 'note', null, 'The journal', 'writers wait', '', '', '', '[]', '[]', '{}',
        null, null, null, null, null, null, null, null, 'superseded', 1,
        'h2', '2025-01-01T00:00:01.000000Z', '2025-01-01T00:00:01.000000Z', null, 0, 0, 'instructions', 1),
       (4, '44444444444444444444444444444444', 'entity', 'person', 'Ann', '', '', '', '', '[]', '[]', '{}',
        null, null, null, null, null, null, null, null, 'active', null,
        'h4', '2025-01-02T00:00:00.000000Z', '2025-01-02T00:00:00.000000Z', null, 0, 10, '', 0),
       (5, '55555555555555555555555555555555', 'entity', 'service', 'Shop', '', '', '', '', '[]', '[]', '{}',
        null, null, null, null, null, null, null, null, 'active', null,
        'h5', '2025-01-02T00:00:00.000000Z', '2025-01-02T00:00:00.000000Z', null, 0, 0, '', 0),
       (7, '77777777777777777777777777777777', 'discovery', null, '', '', '', '', '', '[]', '[]', '{}',
        null, null, 'scout', 's1', 2, 't', 'run1', 1, 'active', null,
        'h7', '2025-01-04T00:00:00.000000Z', '2025-01-04T00:00:00.000000Z', null, 0, 12, '', 0);

update sqlite_sequence set seq = 9 where name = 'memories';  -- 8 and 9 were deleted

insert into bodies
values (1, 'Writers queue behind another'), (2, ''), (4, '- keeps it'), (5, ''), (7, 'wal is quick');

insert into history (id, memory_id, replaced_at, record, body)
values (3, 1, '2025-01-03T00:00:00.000000Z',
        '{"id": 1, "uid": "11111111111111111111111111111111", "kind": "note", "category": null, "title": "We use WAL",
          "what": "readers wait", "why": "", "impact": "", "description": "", "tags": "[]", "related_files": "[]",
          "metadata": "{}", "project": null, "source": null, "agent_id": null, "session_id": null, "session_iter": null,
          "task_code": null, "query_id": null, "parent_id": null, "status": "active", "superseded_by": null,
          "content_hash": "h0", "created_at": "2025-01-01T00:00:00.000000Z", "updated_at": "2025-01-01T00:00:00.000000Z",
          "accessed_at": null, "access_count": 0, "body_size": 5}', 'Wrong');

insert into chunks (id, memory_id, chunk_index, start, stop, chunk_type, header_path, level, token_count, heading, tags,
                    files, grams)
values (1, 1, 0, 0, 0, 'head', '[]', 0, 3, '', 'db', 'store.py', ''),
       (2, 1, 1, 0, 28, 'text', '[]', 0, 4, '', '', '', ''),
       (3, 2, 0, 0, 0, 'head', '[]', 0, 2, '', '', '', ''),
       (6, 4, 0, 0, 10, 'text', '[]', 0, 2, '', '', '', ''),
       (7, 5, 0, 0, 0, 'head', '[]', 0, 1, '', '', '', ''),
       (9, 7, 0, 0, 12, 'text', '[]', 0, 3, '', '', '', '');

insert into generations (id, provider, model, recipe, dimension, state, vectors, total, changes, created_at, fingerprint)
values (1, 'hashed', 'hashed-2', 1, 2, 'retired', 1, x'000000000000f03f0000000000000000', 1,
        '2025-01-01T00:00:00.000000Z', null),
       (2, 'hashed', 'hashed-2', 2, 2, 'active', 4, x'00000000000000400000000000000040', 4,
        '2025-01-01T00:00:00.000000Z', x'0000803f00000000');

insert into vectors_1 values (1, 0, x'0000803f00000000');
insert into vectors_2
values (1, 0, x'0000803f00000000'), (2, 0, x'000000000000803f'), (6, 0, x'0000803f00000000'), (7, 0, x'000000000000803f');

insert into embed_queue
values (9, 2, 'connection refused', '2025-01-05T00:00:00.000000Z', '2025-01-05T00:05:00.000000Z', 'gone');

insert into begun values (9, 2, 0, 5, 2, x'0000803f00000000');

insert into lexicons values (2, 4, 4, 0.5, '2025-01-01T00:00:00.000000Z', 1, x'0000803f00000000');
insert into lexicon_terms values (2, 'wal', 1.0, x'7f');

insert into relations values (4, 5, 'keeps', '2025-01-02T00:00:00.000000Z');
insert into entity_memories values (5, 1, '2025-01-02T00:00:00.000000Z');

insert into tool_calls
values (4, '99999999999999999999999999999999', 'run1', 'scout', 'builtin', 'grep', '{"q": "wal"}', '3', 1,
        '2025-01-04T00:00:00.000000Z');

insert into ledger (id, moment, provider, model, purpose, host, calls, texts, tokens, bytes_out, seconds, cost, error)
values (2, '2025-01-01T00:00:00.000000Z', 'hashed', 'hashed-2', 'document', '', 1, 4, 9, 0, 0.5, 0.0, '');

insert into outages values ('models.example', '2025-01-05T01:00:00.000000Z', 'connection refused');

pragma application_id = 0x6D656D6F;
pragma user_version = 8;
