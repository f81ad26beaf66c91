-- concurrently: when an account is rejected, its transfers that wait are read. The functions rail_fact_claim, rail_fact_contradict and
-- transfer_hold are new, and contradict_accepted comes with them.
create index concurrently transfer_waiting on {{schema}}.transfer (account_id, id) where status = 'pending';
