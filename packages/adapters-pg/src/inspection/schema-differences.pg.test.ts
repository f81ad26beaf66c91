import { testDatabase } from '@outlay/testing/vitest'
import pg from 'pg'
import { afterAll, describe, expect, it } from 'vitest'
import { postgres } from '../backend.ts'
import { pgDriver } from '../drivers/pg.ts'
import { inspect } from './inspection.ts'

describe('the objects of a schema', async () => {
  const { url } = await testDatabase()
  const pool = new pg.Pool({ connectionString: url, max: 1 })
  afterAll(() => pool.end())
  const driver = pgDriver(pool)

  it.each([
    ['outlay', undefined, ''],
    ['order', 'jobs_of_orders', `set search_path = "order", public; set quote_all_identifiers = on`],
    ['account', undefined, 'set search_path = pg_catalog'],
  ])('are those that this release makes, in the schema %s', async (schema, queueSchema, settings) => {
    const names = { schema, queueSchema }
    await postgres({ driver, ...names }).migrate()
    await pool.query(settings)
    expect(await inspect({ driver, ...names }).differences()).toEqual([])
  })

  it('may be more than this release makes, and stored otherwise', async () => {
    await pool.query(`
      create index host_index on outlay.transfer (created_at);
      create unique index "the host's own" on outlay.transfer (id, account_id);
      alter table outlay.transfer add column host_note text, set (fillfactor = 90);
      alter table outlay.event add foreign key (transfer_id) references outlay.transfer (id) not valid;
      alter table outlay.transfer validate constraint transfer_request_is_an_object;
      alter domain outlay.stage validate constraint stage_check;
      alter table outlay.account add constraint host_check check (account_id <> '');
      create table public.payout (id text references outlay.transfer (id));
      create table outlay.host_table (id text primary key);
      create view outlay.host_view as select id from outlay.transfer;
      create function outlay.settle(p_host integer) returns integer language sql as 'select 1';
      create function outlay.host_trigger() returns trigger language plpgsql as 'begin return new; end';
      create trigger host_trigger before insert on outlay.transfer for each row execute function outlay.host_trigger();
      comment on column outlay.transfer.stage is 'of the host';
      alter index outlay.transfer_gateway_remote_id set (fillfactor = 70)`)
    expect(await inspect({ driver }).differences()).toEqual([])
  })
})
