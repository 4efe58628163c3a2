-- What each empty table costs, and each memory: see the schema. The vectors are moved into blocks by `generations.pack`.

drop index if exists memories_by_hash;
drop index if exists memories_by_project;
drop index if exists memories_by_update;
drop index if exists memories_by_agent;
drop index if exists memories_by_kind;
drop index if exists one_active_generation;
drop index if exists one_building_generation;
drop index if exists begun_by_generation;
drop index if exists lexicons_by_generation;

create index memories_by_hash on memories (substr(content_hash, 1, 16));  -- which tell texts apart well enough
create index memories_by_project on memories (project, updated_at);

create index memories_by_update on memories (
    updated_at, id,
    kind, status, project, source, category, agent_id, session_id, session_iter, task_code, query_id, created_at
);

create index memories_by_agent on memories (agent_id, updated_at, id, status);
create index memories_by_kind on memories (kind, updated_at, id, status);

create unique index one_generation_a_state on generations (state) where state <> 'retired';
