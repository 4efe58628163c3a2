-- Strangers are compared with all vectors without the write lock: vectors that come meanwhile are noted apart.
-- Until the first comparison ends, `nearest` is empty, and the strangers answer nothing.

alter table nearness add column rising blob;           -- as `nearest`, of vectors added since it began; null if none is on
alter table nearness add column comparison integer;    -- which one is on: a number at random; null if none is
