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
