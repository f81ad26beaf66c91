-- Positions of keys that stand for another request: in the database, or earlier in the same batch.
create or replace function {{schema}}.mismatched_keys(p_account_ids text[], p_keys text[], p_fingerprints text[])
returns setof integer language sql as $$
  select n.position::integer
  from unnest(p_account_ids, p_keys, p_fingerprints) with ordinality as n (account_id, key, fingerprint, position)
  left join {{schema}}.transfer t on t.account_id = n.account_id and t.idempotency_key = n.key
  left join unnest(p_account_ids, p_keys, p_fingerprints) with ordinality as m (account_id, key, fingerprint, position)
    on m.account_id = n.account_id and m.key = n.key and m.position < n.position
  where (t.id is not null and t.fingerprint <> n.fingerprint) or (m.key is not null and m.fingerprint <> n.fingerprint)
  order by n.position
$$;
