-- What its reader wants to see first, whatever is saved after it.

alter table memories add column pinned integer not null default 0 check (pinned in (0, 1));

create index pinned_memories on memories (updated_at) where pinned = 1;
