-- The audit as a chain: each entry has a digest over itself and over that of the entry before, in an order to which later commits only append. It is made after
-- the commit of the commands, so that none waits for another. Functions: audit_text, chain_audit, record_audit, payee_of, stellar_account.
create table {{schema}}.audit_chain (
  -- From 1 on, without gaps.
  position bigint primary key,
  audit_id bigint not null unique,
  -- SHA-256 over the hash before and the entry, in hexadecimal digits.
  hash     text not null
);
comment on table {{schema}}.audit_chain is 'The order of the audit, with what shows a change. Rows are only added.';

-- Where the chain ends.
create table {{schema}}.audit_chain_end (
  only_row       boolean primary key default true check (only_row),
  position       bigint not null,
  hash           text not null,
  -- What transactions before this one wrote is in the chain: all of them had ended.
  settled_before xid8 not null
);

create trigger audit_chain_only_added before update or delete on {{schema}}.audit_chain for each row execute function {{schema}}.refuse_change();
create trigger audit_chain_not_emptied before truncate on {{schema}}.audit_chain for each statement execute function {{schema}}.refuse_change();
