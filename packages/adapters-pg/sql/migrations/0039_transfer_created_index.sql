-- concurrently: finds what was enqueued in some minutes. The table grows in the order of time, so a few bytes per range of pages do, and an enqueue writes none of them.
create index concurrently transfer_created on {{schema}}.transfer using brin (created_at) with (pages_per_range = 16, autosummarize = on);
