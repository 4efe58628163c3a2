-- Texts sort by their code points, whatever the database's collation says. Times are ISO 8601 in UTC with microseconds:
-- they sort as text. Memories and bodies are the truth; everything below them can be rebuilt.

create table format (
    version integer primary key                       -- see `memory.store.postgres.opening.FORMAT`
);

create table memories (
    id            bigint generated always as identity primary key,  -- never used again but for itself, undeleted
    uid           text collate "C" not null unique,
    kind          text collate "C" not null,
    category      text collate "C",
    title         text collate "C" not null,
    what          text collate "C" not null,
    why           text collate "C" not null,
    impact        text collate "C" not null,
    description   text collate "C" not null,
    tags          text collate "C" not null,          -- JSON, as the two below
    tag_keys      text collate "C" not null,          -- JSON: as they are compared (memory.schema.draft.tag_key)
    related_files text collate "C" not null,
    metadata      text collate "C" not null,          -- not jsonb, which takes no lone surrogates
    project       text collate "C",
    source        text collate "C",
    agent_id      text collate "C",
    session_id    text collate "C",
    session_iter  bigint,
    task_code     text collate "C",
    query_id      text collate "C",
    parent_id     bigint references memories on delete set null,
    status        text collate "C" not null default 'active' check (status in ('active', 'superseded')),
    superseded_by bigint references memories on delete set null,
    content_hash  text collate "C" not null,
    created_at    text collate "C" not null,
    updated_at    text collate "C" not null,
    accessed_at   text collate "C",
    access_count  bigint not null default 0,
    body_size     bigint not null,                    -- in code points
    flags         text collate "C" not null default '',
    keyword_only  boolean not null default false,
    pinned        boolean not null default false,
    author        text collate "C",                   -- who saved it
    owner         text collate "C",                   -- whose alone it is in a context; null if it is everybody's
    happened_at   text collate "C",                   -- null: when it was made
    valid_until   text collate "C",                   -- from then on it has ended; null: no end is known
    namespace     text collate "C",                   -- of an item, as its metadata says; null: it is none
    key           text collate "C"
);

create index memories_by_update on memories (updated_at desc, id desc);
create index ended_memories on memories (valid_until) where valid_until is not null;
create index memories_by_happening on memories (coalesce(happened_at, created_at), id);
create index memories_by_hash on memories (content_hash);
create index memories_by_project on memories (project, updated_at desc) include (id, status);
create index memories_by_agent on memories (agent_id, updated_at desc, id desc);
create index memories_by_kind on memories (kind, updated_at desc, id desc);
create index memories_by_session on memories (session_id, session_iter, agent_id);
create index memories_by_run on memories (query_id, kind);
create index memories_by_source on memories (source);
create index memories_by_category on memories (category);
create index memories_by_tag on memories using gin ((tag_keys::jsonb) jsonb_path_ops);
create index memories_by_parent on memories (parent_id) where parent_id is not null;
create index memories_by_successor on memories (superseded_by) where superseded_by is not null;
create index keyword_only_memories on memories (id) where keyword_only;
create index pinned_memories on memories (updated_at) where pinned;
create index superseded_memories on memories (id) where status <> 'active';
create unique index one_entity_a_name on memories (title) where kind = 'entity';
create unique index one_item_a_key on memories (namespace, key) where kind = 'item';

create table bodies (
    memory_id bigint primary key references memories on delete cascade,
    body      text collate "C" not null               -- verbatim
);

create table history (
    id          bigint generated always as identity primary key,
    memory_id   bigint not null references memories on delete cascade,
    replaced_at text collate "C" not null,
    record      text collate "C" not null,            -- the row of `memories` as it was, as JSON
    body        text collate "C" not null
);

create index history_by_memory on history (memory_id, id desc);

create table chunks (
    id          bigint generated always as identity primary key,  -- never used again
    memory_id   bigint not null references memories on delete cascade,
    chunk_index bigint not null,
    start       bigint not null,                      -- code points into the body
    stop        bigint not null,
    chunk_type  text collate "C" not null,
    header_path text collate "C" not null,            -- JSON
    level       bigint not null,
    token_count bigint not null,
    heading     text collate "C" not null,            -- the header path in words
    tags        text collate "C" not null,            -- the memory's tags and files in words, with its first chunk
    files       text collate "C" not null,
    grams       text collate "C" not null,            -- see memory.text.terms.grams
    folded      text collate "C",                           -- of what is indexed, what has another form there (memory.text.fold)
    unique (memory_id, chunk_index)
);

-- What is indexed of a chunk: see `memory.store.WEIGHTS`.
create view passages as
select c.id,
       c.memory_id,
       coalesce(c.folded::json ->> 'title', m.title) as title,
       c.heading,
       coalesce(
           c.folded::json ->> 'text',
           case c.chunk_type when 'head' then m.what
               else substr(b.body, c.start::integer + 1, (c.stop - c.start)::integer) end
       ) as text,
       case c.chunk_index when 0 then coalesce(c.folded::json ->> 'why', m.why) else '' end as why,
       case c.chunk_index when 0 then coalesce(c.folded::json ->> 'impact', m.impact) else '' end as impact,
       c.tags,
       case c.chunk_index when 0 then coalesce(c.folded::json ->> 'category', m.category) else '' end as category,
       case c.chunk_index when 0 then coalesce(c.folded::json ->> 'project', m.project) else '' end as project,
       case c.chunk_index when 0 then coalesce(c.folded::json ->> 'source', m.source) else '' end as source,
       c.files,
       c.grams
from chunks c
join memories m on m.id = c.memory_id
join bodies b on b.memory_id = c.memory_id;

create table vocabulary (
    id          integer generated always as identity (maxvalue 1000000000 cycle) unique,  -- see memory.store.postgres.index.DIMENSION
    term        text collate "C" primary key,         -- a stem, made by memory.text.lookup
    chunks      bigint not null,                      -- that hold it
    occurrences bigint not null
) with (fillfactor = 70);

-- The keyword index.
create table keywords (
    chunk_id  bigint primary key references chunks on delete cascade,
    memory_id bigint not null,
    words     integer[] not null,                     -- of the vocabulary, and one below 0 for the project of the memory
    often     sparsevec not null,                     -- of each word the sum of the weights of its places
    said      text[] collate "C" not null,            -- all words in order: the columns of each weight, for phrases
    size      bigint not null                         -- words of all columns
) with (toast_tuple_target = 8160);                   -- in the row: each candidate of a question is read

create index keywords_by_word on keywords using gin (words);
create index keywords_by_memory on keywords (memory_id);

create table counters (
    name  text collate "C" primary key,
    value bigint not null
);

insert into counters values ('chunks', 0), ('words', 0);  -- count(*) would read the whole table for every search

create table generations (
    id          bigint generated always as identity primary key,
    provider    text collate "C" not null,
    model       text collate "C" not null,
    recipe      bigint not null,
    dimension   integer not null check (dimension > 0),
    state       text collate "C" not null check (state in ('building', 'active', 'retired')),
    vectors     bigint not null default 0,            -- how many `total` is the sum of
    total       bytea not null,                       -- float64, little-endian
    fingerprint bytea check (length(fingerprint) = 4 * dimension),  -- float32, little-endian; null if it is not known
    created_at  text collate "C" not null
);

create unique index one_active_generation on generations (state) where state = 'active';
create unique index one_building_generation on generations (state) where state = 'building';

-- Chunks without a vector in the active generation. (`vectors_<id>` tables are made with their generation.)
create table embed_queue (
    chunk_id      bigint primary key references chunks on delete cascade,
    attempts      bigint not null default 0,
    last_error    text collate "C" not null default '',
    tried_at      text collate "C",
    claimed_until text collate "C",
    claimed_by    text collate "C"
);

create index embed_queue_by_attempts on embed_queue (attempts, chunk_id);
create index embed_queue_by_trial on embed_queue (tried_at) where tried_at is not null;
create index embed_queue_by_claim on embed_queue (claimed_until, claimed_by) where claimed_until is not null;

create table begun (
    chunk_id   bigint not null references chunks on delete cascade,
    generation bigint not null references generations on delete cascade,
    first      bigint not null,                       -- number of the first window, from 0
    stamp      bigint not null,                       -- of the text that is embedded
    windows    bigint not null,
    embeddings bytea not null,                        -- float32, little-endian: a row of the dimension for each window
    primary key (chunk_id, generation, first)
);

create index begun_by_generation on begun (generation);

-- Questions that are strangers to a store, and how near they come to the vectors of a generation.
create table strangers (
    generation bigint primary key references generations on delete cascade,
    stamp      bigint not null,                       -- of the texts they were made from
    fit        double precision not null,             -- median cosine of a question with its right answer
    embeddings bytea not null                         -- float32, little-endian: a row of the dimension for each
);

create table nearness (
    generation bigint primary key references strangers on delete cascade,
    nearest    bytea not null,                        -- float32, little-endian: of each the highest cosine with a vector
    products   double precision not null,             -- sum of the cosines of all strangers with all vectors
    loose      bigint not null,                       -- how many of `nearest` may be too high
    rising     bytea,                                 -- as `nearest`, of vectors added since a comparison began; or null
    comparison bigint                                 -- which one is on: a number at random; null if none is
);

-- Term vectors.
create table lexicons (
    generation bigint primary key,                    -- or minus that: learned again, beside those that answer
    made_of    bigint not null generated always as (abs(generation)) stored references generations on delete cascade,
    passages   bigint not null,                       -- chunks it learned from
    fit        double precision not null,
    terms      bigint not null default 0,             -- rows of lexicon_terms, kept up to date by triggers
    axes       bigint not null,
    basis_sum  bigint,                                -- crc32 of the basis, if there is one
    spread     bytea not null,                        -- float64, little-endian, for each axis
    words      bigint not null default 0,             -- word vectors there were when learning began
    along      double precision not null default 0,
    square     double precision not null default 0
);

-- By itself: it stays as it is when the row above changes, with every vector.
create table lexicon_axes (
    generation bigint primary key references lexicons on delete cascade,
    basis      bytea not null                         -- float32, little-endian: a row of the dimension for each axis
);

create table lexicon_terms (
    generation bigint not null references lexicons on delete cascade,
    term       text collate "C" not null,             -- one stem, or two with a blank between them
    passages   bigint not null,                       -- chunks that hold it
    last       bigint not null,                       -- which was the last of these
    met        double precision not null,             -- sum of the squares of its weights
    scale      double precision not null,
    code       bytea not null,                        -- an int8 for each axis
    primary key (generation, term)
);

create index lexicon_terms_by_end on lexicon_terms (generation, split_part(term, ' ', 2)) where strpos(term, ' ') > 0;

create function lexicon_terms_counted() returns trigger language plpgsql as $$
begin
    if tg_op = 'INSERT' then
        update lexicons l set terms = l.terms + n.count
        from (select generation, count(*) from changed group by generation) n where l.generation = n.generation;
    else
        update lexicons l set terms = l.terms - n.count
        from (select generation, count(*) from changed group by generation) n where l.generation = n.generation;
    end if;
    return null;
end $$;

create trigger lexicon_terms_added after insert on lexicon_terms
referencing new table as changed for each statement execute function lexicon_terms_counted();

create trigger lexicon_terms_removed after delete on lexicon_terms
referencing old table as changed for each statement execute function lexicon_terms_counted();

-- Chunks with a vector in a generation that its term vectors did not learn from yet; all, if there is no lexicon.
create table lexicon_lessons (
    chunk_id   bigint not null references chunks on delete cascade,
    generation bigint not null references lexicons on delete cascade,
    primary key (chunk_id, generation)
);

create index lexicon_lessons_by_generation on lexicon_lessons (generation, chunk_id);

-- The pairs of words that each of the last chunks was the first to say.
create table lexicon_pairs (
    id         bigint generated always as identity primary key,
    generation bigint not null references lexicons on delete cascade,
    chunk_id   bigint not null references chunks on delete cascade,
    pairs      bytea not null                         -- crc32 of each, little-endian
);

create index lexicon_pairs_by_generation on lexicon_pairs (generation);
create index lexicon_pairs_by_chunk on lexicon_pairs (chunk_id);

create table relations (
    source     bigint not null references memories on delete cascade,
    target     bigint not null references memories on delete cascade,
    type       text collate "C" not null,
    created_at text collate "C" not null,
    primary key (source, target, type)
);

create index relations_by_target on relations (target, source);

create table entity_memories (
    entity     bigint not null references memories on delete cascade,
    memory     bigint not null references memories on delete cascade,
    created_at text collate "C" not null,
    primary key (entity, memory)
);

create index entities_by_memory on entity_memories (memory, entity);

create table tool_calls (
    id         bigint generated always as identity primary key,
    uid        text collate "C" not null unique,      -- the same in every export
    query_id   text collate "C",
    agent_name text collate "C" not null,
    tool_type  text collate "C" not null check (tool_type in ('builtin', 'http', 'mcp')),
    tool_name  text collate "C" not null,
    parameters text collate "C" not null,
    result     text collate "C" not null,
    success    boolean not null,
    timestamp  text collate "C" not null
);

create index tool_calls_by_run on tool_calls (query_id, id);
create index tool_calls_by_agent on tool_calls (agent_name, id);

create table ledger (
    id        bigint generated always as identity primary key,  -- never used again: a request is settled by its id
    moment    text collate "C" not null,
    day       text collate "C" not null generated always as (substr(moment, 1, 10)) stored,
    provider  text collate "C" not null,
    model     text collate "C" not null,
    purpose   text collate "C" not null,
    host      text collate "C" not null,              -- empty: the texts stayed in the process
    calls     bigint not null,
    texts     bigint not null,
    tokens    bigint not null,
    bytes_out bigint not null,
    seconds   double precision not null,
    cost      double precision not null,              -- in US dollars
    error     text collate "C" not null
);

create index ledger_by_moment on ledger (moment);
create index ledger_by_host on ledger (host, day, calls, tokens);
create unique index one_line_a_day on ledger (day, provider, model, purpose) where host = '';

create table outages (
    host  text collate "C" primary key,
    until text collate "C" not null,
    error text collate "C" not null
);

-- What was deleted, as lines of an export, for as long as it can be restored. Nothing that reads memories reads it.
create table trash (
    uid        text collate "C" not null,
    number     bigint,                                -- its id here; null if an import brought it
    deleted_at text collate "C" not null,
    until      text collate "C" not null,             -- cannot be restored from then on
    line       text collate "C" not null,
    step       text collate "C" not null default '',  -- that deleted it
    person     text collate "C" not null default '',  -- who did
    replaced   boolean not null default false,        -- what a memory said before an undo, which only a redo looks for
    primary key (uid, deleted_at)                     -- an import may bring back what is deleted once more
);

create index trash_by_time on trash (deleted_at desc, uid);
create index trash_by_number on trash (number);
create index trash_by_end on trash (until);
create index trash_by_step on trash (step) where step <> '';

-- Has a row while bytes of what was taken for good may be left in a table.
create table unwiped (
    id integer primary key check (id = 1)
);

-- Who did what, to take it back. It holds no text: what was said before is in `history` or in `trash`.
create table steps (
    id     bigint generated always as identity primary key,
    key    text collate "C" not null unique,
    verb   text collate "C" not null,
    author text collate "C" not null,                 -- empty: a person, with a command
    moment text collate "C" not null,
    person text collate "C" not null default '',
    undone boolean not null default false             -- an undo of another step, which a redo takes back
);

create index steps_by_author on steps (author, id);

-- No references to memories: what was deleted comes back under its number. An edge has another end.
create table changes (
    id        bigint generated always as identity primary key,
    step      bigint not null references steps on delete cascade,
    memory    bigint not null,
    other     bigint not null default 0,
    type      text collate "C" not null default '',   -- of a relation
    uid       text collate "C" not null default '',
    before    text collate "C",                       -- facts as JSON; of an edge when it was made
    after     text collate "C",
    revisions bigint not null default 0,
    thrown_at text collate "C",                       -- tells which row of the trash it is
    unique (step, memory, other, type)
);

create index changes_by_memory on changes (memory, step);
create index changes_by_other on changes (other) where other > 0;

-- That this store is filled from another by `memory migrate`, or was and has not been changed since.
-- Until it ends nobody else changes memories: what was not there would be taken away again.
create table arrival (
    id     integer primary key check (id = 1),
    source text collate "C" not null,
    run    text collate "C" not null,                 -- at random: whoever fills it now
    ended  boolean not null
);

create function arrival_changed() returns trigger language plpgsql as $$
begin
    if exists (select 1 from arrival where not ended) then
        raise exception 'it is being filled by `memory migrate`; let that end, or run it again';
    end if;
    delete from arrival;
    return null;
end $$;

create trigger arrival_at_memories before insert or delete on memories
for each statement execute function arrival_changed();

-- Every other change of memories and of the graph is noted as a step.
create trigger arrival_at_steps before insert or delete on steps
for each statement execute function arrival_changed();
