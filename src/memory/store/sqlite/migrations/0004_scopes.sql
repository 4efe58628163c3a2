-- Most scopes can be told from the index alone, so that what is out of scope is not read.

drop index memories_by_update;
create index memories_by_update on memories (
    updated_at desc, id desc,
    kind, status, project, source, category, agent_id, session_id, session_iter, task_code, query_id, created_at
);
