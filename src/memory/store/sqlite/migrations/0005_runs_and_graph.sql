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
