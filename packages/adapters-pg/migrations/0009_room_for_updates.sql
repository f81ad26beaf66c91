-- Room in each page for the next versions of its rows, which then need no new entries in the indexes: a claim changes no column
-- that one of them names, and an attempt is changed once, when its answer is there.
alter table {{schema}}.transfer set (fillfactor = 70);

alter table {{schema}}.attempt set (fillfactor = 50);
