-- Who saved a memory, and whose alone it is in a context, where several people share a store.

alter table memories add column author text;
alter table memories add column owner text;

-- Who deleted it, in which step; and what a memory said before an undo, which only a redo looks for.

alter table trash add column step text not null default '';
alter table trash add column person text not null default '';
alter table trash add column replaced integer not null default 0 check (replaced in (0, 1));

create index trash_by_step on trash (step) where step <> '';

-- Whose it is, and whether it is an undo of another step, which a redo takes back.

alter table steps add column person text not null default '';
alter table steps add column undone integer not null default 0 check (undone in (0, 1));
