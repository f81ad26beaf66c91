/**
 * SQL of the table `note (id text primary key, body text)`, beside the engine's tables in the schema `outlay`. A note whose id ends
 * with that of a transfer gets a foreign key to it, as the rows of hosts have.
 */
export const noteTableSql = `create table note (
    id text primary key, body text, transfer_id text references outlay.transfer (id)
  );
  create function refer_to_transfer() returns trigger language plpgsql as $$
  begin
    new.transfer_id := (select t.id from outlay.transfer t where t.id = right(new.id, 26));
    return new;
  end
  $$;
  create trigger refer_to_transfer before insert on note for each row execute function refer_to_transfer()`
