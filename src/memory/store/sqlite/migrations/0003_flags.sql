-- What a reader should know of a memory's text, in words: "instructions" if it looks like orders to an agent.

alter table memories add column flags text not null default '';
