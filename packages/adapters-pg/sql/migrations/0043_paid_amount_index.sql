-- concurrently: finds the transfers of which another amount was paid lately. A claim changes nothing that it names.
create index concurrently transfer_paid on {{schema}}.transfer ((paid ->> 'seenAt') collate "C") where paid is not null;
