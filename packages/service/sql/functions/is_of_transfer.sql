-- True for the reasons of exceptions whose facts name their transfer rightly, as `isOfTransfer` says.
create or replace function {{schema}}.is_of_transfer(p_reason text) returns boolean language sql immutable as $$
  select p_reason not in ('unknown_transfer', 'unknown_automation', 'other_account', 'other_reference', 'other_virtual_account')
$$;
