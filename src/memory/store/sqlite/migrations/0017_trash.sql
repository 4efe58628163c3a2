-- What was deleted, as lines of an export, for as long as it can be had back. Nothing that reads memories reads it.

create table trash (
    uid        text not null,
    number     integer,                               -- its id here; null if an import brought it
    deleted_at text not null,
    until      text not null,                         -- cannot be had back from then on
    line       text not null check (json_type(line) = 'object'),
    primary key (uid, deleted_at)                     -- an import may bring back what is deleted once more
) strict;

create index trash_by_time on trash (deleted_at desc, uid);
create index trash_by_number on trash (number);
create index trash_by_end on trash (until);

-- Has a row while bytes of what was taken for good may be left in the file or its log.
create table unwiped (
    id integer primary key check (id = 1)
) strict;

-- Who did what, to take it back. It holds no text: what was said before is in `history` or in `trash`.

create table steps (
    id     integer primary key,
    key    text not null unique,
    verb   text not null,
    author text not null,                             -- empty: a person, with a command
    moment text not null
) strict;

create index steps_by_author on steps (author, id);

-- No references to memories: what was deleted comes back under its number. An edge has another end.
create table changes (
    id        integer primary key,
    step      integer not null references steps on delete cascade,
    memory    integer not null,
    other     integer not null default 0,
    type      text not null default '',               -- of a relation
    uid       text not null default '',
    before    text,                                   -- facts as JSON; of an edge when it was made
    after     text,
    revisions integer not null default 0,
    thrown_at text,                                   -- tells which row of the trash it is
    unique (step, memory, other, type)
) strict;

create index changes_by_memory on changes (memory, step);
create index changes_by_other on changes (other) where other > 0;
