-- One function dequeues for all accounts of a circle instead.
drop function if exists {{schema}}.queue_dequeue(text, bigint);
