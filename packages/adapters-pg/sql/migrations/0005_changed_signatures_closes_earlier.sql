-- Functions whose arguments or results are others now.
drop function if exists {{schema}}.release_waiting(integer);
drop function if exists {{schema}}.queue_make_due_ready();
