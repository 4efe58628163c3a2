-- What embedding costs, which hosts give no answer, how a model answered when its vectors were new.

-- float32, little-endian; null if it is not known
alter table generations add column fingerprint blob check (length(fingerprint) = 4 * dimension);

-- Several processes may fill one queue; a claim keeps two of them from embedding, and paying for, the same chunk.
alter table embed_queue add column claimed_until text;

-- A queue may hold every chunk there is; asking for the next few, or for the latest failure, reads only those.
create index embed_queue_by_attempts on embed_queue (attempts, chunk_id, tried_at);
create index embed_queue_by_trial on embed_queue (tried_at) where tried_at is not null;

create table ledger (
    id        integer primary key autoincrement,      -- never used again: a request is settled by its id
    moment    text not null,
    day       text not null as (substr(moment, 1, 10)) virtual,
    provider  text not null,
    model     text not null,
    purpose   text not null,
    host      text not null,                          -- empty: the texts stayed in the process
    calls     integer not null,
    texts     integer not null,
    tokens    integer not null,
    bytes_out integer not null,
    seconds   real not null,
    cost      real not null,                          -- in US dollars
    error     text not null
) strict;

create index ledger_by_moment on ledger (moment);
create index ledger_by_host on ledger (host, day, calls, tokens);  -- all that a budget asks for, without the rows
create unique index one_line_a_day on ledger (day, provider, model, purpose) where host = '';

create table outages (
    host  text primary key,
    until text not null,
    error text not null
) strict, without rowid;
