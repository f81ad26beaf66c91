-- Nothing calls these any more, but a worker of earlier code that still runs could: it takes answers for proof that are none.
drop function if exists {{schema}}.claim(text[], uuid[], text);
drop function if exists {{schema}}.take_due(integer, integer);
drop function if exists {{schema}}.take_unread(integer, integer);

-- Whoever claims has to say as whom from now on, so a call of earlier code finds no function.
drop function if exists {{schema}}.fetch_and_take(integer, text, text);
drop function if exists {{schema}}.take(text[], uuid[], text, text);
drop function if exists {{schema}}.begin_attempts(text[], text, text);
