-- Who holds a claim, so that those of a process that has ended are free at once (see memory.holder).
alter table embed_queue add column claimed_by text;

create index embed_queue_by_claim on embed_queue (claimed_until, claimed_by) where claimed_until is not null;

-- What an agent wrote, and what is of a kind, latest first, without reading all that is not.
create index memories_by_agent on memories (agent_id, updated_at desc, id desc, status);
create index memories_by_kind on memories (kind, updated_at desc, id desc, status);
