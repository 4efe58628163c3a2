-- The vectors of new terms begin with what the model makes of the word.

alter table lexicons add column words integer not null default 0;  -- word vectors there were when learning began
alter table lexicons add column along real not null default 0;     -- two sums over passages: how far they count
alter table lexicons add column square real not null default 0;
