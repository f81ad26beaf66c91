-- Which login wrote an approval: whoever may call the function that writes one need not have given the command. Null for those of before.
alter table {{schema}}.approval add column login text;
