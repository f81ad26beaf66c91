-- Accounts whose transfers are not claimed: paused or stopped.
create or replace view {{schema}}.held_account as
select a.account_id from {{schema}}.account a where a.paused
union
select s.name from {{schema}}.stop s where s.scope = 'account';
comment on view {{schema}}.held_account is 'Accounts whose transfers are not sent: paused, or stopped.';
