-- Digests by which a process sees whether it has the keys of this database.

create table {{schema}}.key_check (
  -- `digests`, or `key:` and the id of a wrapping key.
  name text primary key,
  -- Digest of a constant under that key.
  value text not null
);
