-- Who saved a memory, and whose alone it is in a context, where several people share a store.
alter table memories add column author text collate "C", add column owner text collate "C";

-- Who deleted it, in which step; and what a memory said before an undo, which only a redo looks for.
alter table trash
    add column step text collate "C" not null default '',
    add column person text collate "C" not null default '',
    add column replaced boolean not null default false;

create index trash_by_step on trash (step) where step <> '';

-- Whose it is, and whether it is an undo of another step, which a redo takes back.
alter table steps
    add column person text collate "C" not null default '',
    add column undone boolean not null default false;
