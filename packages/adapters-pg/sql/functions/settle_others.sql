-- Writes settlements that settle_accepted() leaves: the answers into the log of attempts, what they say of credentials and counterparties, and the
-- outcomes. The caller has locked the transfers. Returns the settlements as they were written, and the transfers that have their outcomes.
create or replace function {{schema}}.settle_others(
  p_settlements jsonb, p_is_judged boolean, out settlements jsonb, out ids text[]
) language plpgsql as $$
begin
  settlements := {{schema}}.record_answers({{schema}}.block_duplicate_remote_ids({{schema}}.disown_settlements(p_settlements)));

  if p_is_judged or exists (select 1 from {{schema}}.unauthorized_account) or exists (select 1 from {{schema}}.unauthorized_transfer) then
    settlements := {{schema}}.record_credentials(settlements);
  end if;

  if settlements @? '$[*] ? (exists (@.address_id) || exists (@.forget) || exists (@.registration_unknown_since))' then
    perform {{schema}}.record_counterparties(settlements);
  end if;

  ids := {{schema}}.write_settlements(settlements);
  if coalesce(cardinality(ids), 0) < jsonb_array_length(settlements) or settlements @? '$[*].taken_id' then
    perform {{schema}}.mark_unmatched(settlements);
  end if;
end
$$;
