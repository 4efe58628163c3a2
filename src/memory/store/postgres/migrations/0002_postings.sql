-- Postings: of each word which chunks hold it, packed, so that a process ranks by itself what it has read once. They are
-- made by one process for all; what came since has a higher id than `last`, what went a higher number than `number`.
insert into counters (name, value)
select 'last', coalesce(max(chunk_id), 0) from keywords union all select 'removals', 0;

create table removals (
    number   bigint primary key,
    chunk_id bigint not null
);

create table posting_base (
    id      bigint generated always as identity primary key,
    number  bigint not null,
    last    bigint not null,
    chunks  bigint not null,
    ids     bytea not null,                           -- big-endian, as all below: int8 of each chunk, lowest first
    owners  bytea not null,                           -- int8 of its memory
    lengths bytea not null                            -- int8 of its words
);

create table posting_lists (
    word  text collate "C" primary key,
    rows  bytea not null,                             -- int4: places in `ids`, in any order
    often bytea not null                              -- float4 of each: see `keywords`
);

alter table posting_lists alter column rows set storage external, alter column often set storage external;
