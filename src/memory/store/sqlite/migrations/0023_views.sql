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
