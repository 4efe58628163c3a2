-- All that a database holds. A change of it is a new format: see LATEST in opening.py.
-- Memories and bodies are the truth; most of what is below them can be rebuilt.

create table memories (
    id             integer primary key autoincrement, -- never used again: an old id cannot name a new memory
    uid            text not null unique,
    kind           text not null,
    category       text,
    title          text not null,
    what           text not null,
    why            text not null,
    impact         text not null,
    description    text not null,
    tags           text not null check (json_type(tags) = 'array'),
    related_files  text not null check (json_type(related_files) = 'array'),
    metadata       text not null check (json_type(metadata) = 'object'),
    project        text,
    source         text,
    agent_id       text,
    session_id     text,
    session_iter   integer,
    task_code      text,
    query_id       text,
    parent_id      integer references memories on delete set null,
    status         text not null default 'active' check (status in ('active', 'superseded')),
    superseded_by  integer references memories on delete set null,
    content_hash   text not null,
    created_at     text not null,                     -- ISO 8601, UTC, microseconds: sorts as text
    updated_at     text not null,
    accessed_at    text,
    access_count   integer not null default 0,
    body_size      integer not null,                  -- in code points
    flags          text not null default '',          -- in words: "instructions" if it looks like orders to an agent
    keyword_only   integer not null default 0 check (keyword_only in (0, 1)),  -- never embedded: goes to no model
    pinned         integer not null default 0 check (pinned in (0, 1)),
    author         text,                              -- the person who saved it; null of a file of one person
    owner          text,                              -- whose contexts alone have it; null: everybody's
    happened_at    text,                              -- null: when it was made
    valid_until    text,                              -- from then on it has ended; null: no end is known
    namespace      text,                              -- of an item, as its metadata says; null: it is none
    key            text
) strict;

create index memories_by_session on memories (session_id, session_iter, agent_id) where session_id is not null;
create index memories_by_run on memories (query_id, kind);
create index memories_by_parent on memories (parent_id) where parent_id is not null;
create index memories_by_successor on memories (superseded_by) where superseded_by is not null;

create index keyword_only_memories on memories (id) where keyword_only = 1;
create unique index one_entity_a_name on memories (title) where kind = 'entity';
create unique index one_item_a_key on memories (namespace, key) where kind = 'item';

create index pinned_memories on memories (updated_at) where pinned = 1;

-- What has a rare value is found without reading all that has another. The first two hold all memories: SQLite would
-- scan one of those that have a value in place of an index that has all columns.
create index memories_by_source on memories (source);
create index memories_by_category on memories (category);
-- Every context asks for these, latest first. With the category, and behind its index: else SQLite takes that.
create index preferences on memories (category, updated_at, id) where category = 'preference';
create index memories_by_task on memories (task_code) where task_code is not null;

-- What is superseded is found without reading all memories: of what was ranked, a search takes it away.
create index superseded_memories on memories (id) where status = 'superseded';

create index memories_by_hash on memories (substr(content_hash, 1, 16));  -- which tell texts apart well enough

-- Ascending from here on, though the latest are wanted first: what is added at the end of an index leaves its pages full.
create index memories_by_project on memories (project, updated_at) where project is not null;

-- Most scopes can be told from the index alone, so that what is out of scope is not read.
create index memories_by_update on memories (
    updated_at, id,
    kind, status, project, source, category, agent_id, session_id, session_iter, task_code, query_id
);

-- What an agent wrote, and what is of a kind, latest first, without reading all that is not.
create index memories_by_agent on memories (agent_id, updated_at, id, status) where agent_id is not null;
create index memories_by_kind on memories (kind, updated_at, id, status);

create index ended_memories on memories (valid_until) where valid_until is not null;
create index memories_by_happening on memories (coalesce(happened_at, created_at), id, status);

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

-- What is found by keyword ----------------------------------------------------------------------------------------

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
    grams       text not null,                        -- see docs/decisions/keywords.md
    folded      text check (json_type(folded) = 'object'),  -- of what is indexed, what has another form there
    unique (memory_id, chunk_index)
) strict;

create table counters (
    name  text primary key,
    value integer not null
) strict, without rowid;

insert into counters values ('chunks', 0);            -- count(*) would read the whole table for every search

-- What is indexed for a chunk: texts in their folded form (memory.text.fold), which is written only where their words are
-- other words then. Facts about the whole memory stand with its first chunk only, so that a long
-- memory does not look like many that agree. FTS5 lets no view that it reads use a table function such as
-- json_each: 'rebuild' and 'integrity-check' would fail. That is why lists are in words among the chunks.
create view passages as
select c.id,
       c.memory_id,
       ifnull(c.folded ->> 'title', m.title) as title,
       c.heading,
       ifnull(
           c.folded ->> 'text',
           case c.chunk_type when 'head' then m.what else substr(b.body, c.start + 1, c.stop - c.start) end
       ) as text,
       iif(c.chunk_index = 0, ifnull(c.folded ->> 'why', m.why), '') as why,
       iif(c.chunk_index = 0, ifnull(c.folded ->> 'impact', m.impact), '') as impact,
       c.tags,
       iif(c.chunk_index = 0, ifnull(c.folded ->> 'category', m.category), '') as category,
       iif(c.chunk_index = 0, ifnull(c.folded ->> 'project', m.project), '') as project,
       iif(c.chunk_index = 0, ifnull(c.folded ->> 'source', m.source), '') as source,
       c.files,
       c.grams
from chunks c
join memories m on m.id = c.memory_id
join bodies b on b.memory_id = c.memory_id;

create virtual table passages_fts using fts5 (
    title, heading, text, why, impact, tags, category, project, source, files, grams,
    content = 'passages', content_rowid = 'id',
    -- 2: letters with two marks too, as in Vietnamese. M*: vowels of Indic scripts are marks, and end no word.
    tokenize = "porter unicode61 remove_diacritics 2 categories 'L* N* Co M*'"
);

create virtual table vocabulary using fts5vocab (passages_fts, row);

-- Whether any chunk holds a word: `vocabulary` counts all that do before it says so.
create virtual table occurrences using fts5vocab (passages_fts, instance);

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

-- What a copy of chunks or vectors must forget: copies are brought up to date by what is new and what went.
create table removals (
    number     integer primary key,                   -- counts up; the last is never removed, so none is used again
    generation integer,                               -- whose vectors went; null: the chunk itself did
    chunk_id   integer                                -- null: what was there before counts no more
) strict;

-- A copy that is older than the oldest of these is made anew.
create trigger removals_bounded after insert on removals begin
    delete from removals where number <= new.number - 100000;
end;

create trigger chunk_gone after delete on chunks begin
    insert into removals (chunk_id) values (old.id);
end;

-- Files beside the database that are made from it. One that is not named here is not read: a database that was restored
-- names none that was made after its copy.
create table derived (
    name  text primary key,
    stamp blob not null check (length(stamp) = 16)    -- at random; also in the file, and in its name
) strict, without rowid;

-- What is found by meaning. `vectors_<id>` tables are made with their generation ----------------------------------

create table generations (
    id          integer primary key autoincrement,
    provider    text not null,
    model       text not null,
    recipe      integer not null,
    dimension   integer not null check (dimension > 0),
    state       text not null check (state in ('building', 'active', 'retired')),
    vectors     integer not null default 0,           -- how many `total` is the sum of
    total       blob not null,                        -- float64, little-endian: the mean is what centring needs
    changes     integer not null default 0,           -- how often its vectors changed: says whether a copy is current
    created_at  text not null,
    fingerprint blob check (length(fingerprint) = 4 * dimension)  -- float32, little-endian; null if it is not known
) strict;

create unique index one_generation_a_state on generations (state) where state <> 'retired';

-- Chunks without a vector in the active generation. A claim keeps two processes from embedding, and paying for, the
-- same chunk; those of a process that has ended are free at once (see memory.schema.holder).
create table embed_queue (
    chunk_id      integer primary key references chunks on delete cascade,
    attempts      integer not null default 0,
    last_error    text not null default '',
    tried_at      text,
    claimed_until text,
    claimed_by    text
) strict;

-- The queue may hold every chunk there is; asking for the next few, or for the latest failure, reads only those.
create index embed_queue_by_attempts on embed_queue (attempts, chunk_id, tried_at);
create index embed_queue_by_trial on embed_queue (tried_at) where tried_at is not null;
create index embed_queue_by_claim on embed_queue (claimed_until, claimed_by) where claimed_until is not null;

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

-- Term vectors, learned from the vectors that are stored ----------------------------------------------------------

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

-- By itself: it stays as it is when the row above changes, with every vector.
create table lexicon_axes (
    generation integer primary key references lexicons on delete cascade,
    basis      blob not null                          -- a row of the dimension for each axis, together as in narrow.py
) strict;

-- Rows in the order in which terms are first met: those of a text's common words then stand on few pages.
create table lexicon_terms (
    id         integer primary key,
    generation integer not null references lexicons on delete cascade,
    term       text not null,                         -- one stem, or two with a blank between them
    passages   integer not null,                      -- chunks that hold it
    last       integer not null,                      -- which was the last of these
    met        real not null,                         -- sum of the squares of its weights, times 2^24
    scale      real not null,                         -- times 2^36
    code       blob not null,                         -- an int8 for each axis
    unique (generation, term)
) strict;

create trigger lexicon_term_added after insert on lexicon_terms begin
    update lexicons set terms = terms + 1 where generation = new.generation;
end;

create trigger lexicon_term_removed after delete on lexicon_terms begin
    update lexicons set terms = terms - 1 where generation = old.generation;
end;

-- The pairs of words that each of the last chunks was the first to say: a pair is learned from its second mention.
create table lexicon_pairs (
    id         integer primary key,
    generation integer not null references lexicons on delete cascade,
    chunk_id   integer not null references chunks on delete cascade,
    pairs      blob not null                          -- crc32 of each, little-endian
) strict;

create index lexicon_pairs_by_chunk on lexicon_pairs (chunk_id);

-- Chunks with a vector in a generation that its term vectors did not learn from yet; all, if there is no lexicon.
-- Most are taken away right after the save that wrote them. Chunks that go find theirs by the beginning of the key.
create table lexicon_lessons (
    chunk_id   integer not null references chunks on delete cascade,
    generation integer not null references lexicons on delete cascade,
    primary key (chunk_id, generation)
) strict, without rowid;

-- Questions that are strangers to a store, embedded in the space of a generation, and how near they come to its vectors.
create table strangers (
    generation integer primary key references generations on delete cascade,
    stamp      integer not null,                      -- of the texts they were made from
    right      real not null,                         -- median cosine of a question with its right answer
    embeddings blob not null                          -- a row of the dimension for each, together as in narrow.py
) strict;

-- Beside, because it is written with nearly every vector, and the embeddings are hundreds of kilobytes. Strangers are
-- compared with all vectors without the write lock: vectors that come meanwhile are noted apart.
-- Until the first comparison ends, `nearest` is empty, and the strangers answer nothing.
create table nearness (
    generation integer primary key references strangers on delete cascade,
    nearest    blob not null,                         -- float32, little-endian: of each the highest cosine with a vector
    products   real not null,                         -- sum of the cosines of all strangers with all vectors
    loose      integer not null,                      -- how many of `nearest` may be too high
    rising     blob,                                  -- as `nearest`, of vectors since it began; null if none is on
    comparison integer                                -- which one is on: a number at random; null if none is
) strict;

-- The entity graph and research runs. An entity is a memory of its own kind: its observations are its body ----------

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

-- What embedding costs, and which hosts give no answer -------------------------------------------------------------

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

-- What was deleted, and what can be undone -------------------------------------------------------------------------

-- Lines of an export, for as long as they can be restored. Nothing that reads memories reads it.
create table trash (
    uid        text not null,
    number     integer,                               -- its id here; null if an import brought it
    deleted_at text not null,
    until      text not null,                         -- cannot be restored from then on
    line       text not null check (json_type(line) = 'object'),
    step       text not null default '',              -- the key of the step that deleted it
    person     text not null default '',              -- who did; empty if that was not noted
    replaced   integer not null default 0 check (replaced in (0, 1)),  -- said before an undo; only a redo looks for it
    primary key (uid, deleted_at)                     -- an import may bring back what is deleted once more
) strict;

create index trash_by_time on trash (deleted_at desc, uid);
create index trash_by_number on trash (number);
create index trash_by_end on trash (until);
create index trash_by_step on trash (step) where step <> '';

-- Has a row while bytes of what was taken for good may be left in the file or its log.
create table unwiped (
    id integer primary key check (id = 1)
) strict;

-- Who did what, to take it back. It holds no text: what was said before is in `history` or in `trash`.
create table steps (
    id     integer primary key,
    key    text not null unique,
    verb   text not null,
    author text not null,                             -- the program; empty: a person, with a command
    moment text not null,
    person text not null default '',                  -- empty if that was not noted
    undone integer not null default 0 check (undone in (0, 1))  -- an undo of another step, which a redo takes back
) strict;

create index steps_by_author on steps (author, id);

-- No references to memories: what was deleted comes back under its number. An edge has another end.
create table changes (
    id        integer primary key,
    step      integer not null references steps on delete cascade,
    memory    integer not null,
    other     integer not null default 0,
    type      text not null default '',               -- of a relation
    uid       text not null default '',
    before    text,                                   -- facts as JSON; of an edge when it was made
    after     text,
    revisions integer not null default 0,
    thrown_at text,                                   -- tells which row of the trash it is
    unique (step, memory, other, type)
) strict;

create index changes_by_memory on changes (memory, step);
create index changes_by_other on changes (other) where other > 0;

-- A move from another store ------------------------------------------------------------------------------------------

-- That this store is filled from another by `memory migrate`, or was and has not been changed since.
-- Until it ends nobody else changes memories: what was not there would be taken away again.

create table arrival (
    id     integer primary key check (id = 1),
    source text not null,
    run    text not null,                             -- at random: whoever fills it now
    ended  integer not null check (ended in (0, 1))
) strict;

create trigger arrival_at_memory_added before insert on memories when exists (select 1 from arrival) begin
    select raise(abort, 'it is being filled by `memory migrate`; let that end, or run it again')
    from arrival where ended = 0;
    delete from arrival;
end;

create trigger arrival_at_memory_removed before delete on memories when exists (select 1 from arrival) begin
    select raise(abort, 'it is being filled by `memory migrate`; let that end, or run it again')
    from arrival where ended = 0;
    delete from arrival;
end;

-- Every other change of memories and of the graph is noted as a step.
create trigger arrival_at_step before insert on steps when exists (select 1 from arrival) begin
    select raise(abort, 'it is being filled by `memory migrate`; let that end, or run it again')
    from arrival where ended = 0;
    delete from arrival;
end;

create trigger arrival_at_step_undone before delete on steps when exists (select 1 from arrival) begin
    select raise(abort, 'it is being filled by `memory migrate`; let that end, or run it again')
    from arrival where ended = 0;
    delete from arrival;
end;

-- For whoever reads the file with another program --------------------------------------------------------------------

-- The names that other memories document for their tables (docs/decisions/documented-calls.md). Nothing here reads them,
-- and they need nothing that SQLite does not bring. What is superseded is in none of them.

create view session_memories as
select m.id,
       m.kind as memory_type,
       m.agent_id,
       m.session_id,
       m.session_iter,
       m.task_code,
       b.body as content,
       nullif(m.title, '') as title,
       nullif(m.description, '') as description,
       m.category,
       m.tags,
       iif(m.kind = 'knowledge_base', json_set(m.metadata, '$.title', m.title), m.metadata) as metadata,
       substr(m.content_hash, 1, 16) as content_hash,
       m.created_at,
       m.updated_at,
       m.accessed_at,
       m.access_count
from memories m
join bodies b on b.memory_id = m.id
where m.status = 'active'
and m.kind in ('session_context', 'input_prompt', 'system_memory', 'report', 'report_observation', 'working_memory',
               'knowledge_base');

create view memory_chunks as
select c.id,
       c.memory_id as parent_id,
       c.chunk_index,
       p.text as content,
       c.chunk_type,
       coalesce((select group_concat(value, ' > ') from json_each(c.header_path)), '/') as header_path,
       c.level
from chunks c
join passages p on p.id = c.id;

-- `created_at` is the last change, in seconds since 1970: a feedback is renewed in its row.
create view shared_memories as
select m.id,
       m.query_id,
       m.kind as memory_type,
       b.body as content,
       m.agent_id as created_by,
       cast(strftime('%s', m.updated_at) as integer) as created_at,
       json_set(m.metadata, '$.query_id', m.query_id) as metadata
from memories m
join bodies b on b.memory_id = m.id
where m.status = 'active';

-- Memories whose chunks have all their vector in the active generation. The vectors are in `vectors_<id>`.
create view vec_memories as
select m.id as memory_id
from memories m
where m.status = 'active'
and m.keyword_only = 0
and exists (select 1 from generations where state = 'active')
and not exists (select 1 from chunks c join embed_queue q on q.chunk_id = c.id where c.memory_id = m.id);

create view entities as
select m.uid as entity_id,
       m.title as name,
       m.category as entity_type
from memories m
where m.kind = 'entity'
and m.status = 'active';
