-- Which gateways have refused a transfer before another one took it over. A row is there for each change of its gateway, so a transfer that
-- comes back to a gateway that has refused it would break the key.
create table {{schema}}.reroute (
  transfer_id  text collate "C" not null,
  from_gateway text not null,
  to_gateway   text not null,
  -- The attempt that was refused.
  attempt      integer not null,
  rerouted_at  timestamptz not null default clock_timestamp(),
  primary key (transfer_id, from_gateway)
);
comment on table {{schema}}.reroute is 'Changes of gateways: which one refused a transfer, at which attempt, and which one took it over.';
comment on column {{schema}}.transfer.gateway is
  'The gateway that it is sent to. Chosen with the enqueue; another one takes it over only where the log proves that nothing moved.';
