-- A limit knows what is worth the same as its currency. Functions: compare_sum_holds, limit_amount, limit_needs, set_limits, write_excess.
alter table {{schema}}.sum_limit add column worth text[];
comment on column {{schema}}.sum_limit.worth is 'Currencies of which one is worth one of this limit''s: an amount that is stated in another one is unknown to it. Null in limits of an earlier release.';

drop function if exists {{schema}}.limit_amount(text[], {{schema}}.transfer);
