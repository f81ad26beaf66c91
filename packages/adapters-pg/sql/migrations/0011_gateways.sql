-- An engine may have several gateways, and what is true of an account at one of them says nothing about another.
--
-- It is kept under one text: the id of the account itself at the gateway "default", and elsewhere the gateway's name, a space and the id.
-- The columns account_id of transfer, delivery, account and stop have the id alone, those of all other tables that text.
alter table {{schema}}.transfer add column gateway text not null default 'default';
comment on column {{schema}}.transfer.gateway is 'The gateway that it is sent to. Chosen once, with the enqueue.';

-- Null where no request was to leave, as in the lines of reconciliations, and in those of earlier code.
alter table {{schema}}.attempt add column gateway text;

-- Gateways that workers have, and when one of them last said so, which each does twice a minute.
create table {{schema}}.attended_gateway (
  name        text primary key,
  attended_at timestamptz not null default clock_timestamp()
);
comment on table {{schema}}.attended_gateway is 'Gateways that workers have, and when one last said so. Transfers to any other gateway wait.';

-- Separate from the row of a gateway, which workers write: the transaction that ends a stop is a host's, and may take long.
create table {{schema}}.started_gateway (
  name text primary key
);
comment on table {{schema}}.started_gateway is 'Gateways whose stop has ended, until a worker has made due what waited for that.';
