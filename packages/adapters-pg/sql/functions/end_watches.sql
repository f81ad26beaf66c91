-- Forgets what transfers were compared by that go now. One whose counterparty is registered first is compared before it is sent.
create or replace function {{schema}}.end_watches(p_ids text[]) returns void language sql as $$
  delete from {{schema}}.payment_watch w using {{schema}}.transfer t
  where w.transfer_id = any (p_ids) and t.id = w.transfer_id and t.request #> '{destination,addressId}' is not null
$$;
