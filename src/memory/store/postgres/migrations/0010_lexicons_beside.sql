-- Term vectors that are learned again stand beside those that answer, under minus the number of the generation.
alter table lexicons drop constraint if exists lexicons_generation_fkey;
alter table lexicons add column if not exists made_of bigint generated always as (abs(generation)) stored
    references generations on delete cascade;
