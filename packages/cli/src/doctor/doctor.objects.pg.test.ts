import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { outlay, testHost } from '../../test/outbox.ts'
import type { Finding } from './finding.ts'

/** Runs SQL of any number of statements. */
async function run(url: string, text: string): Promise<void> {
  const client = new pg.Client(url)
  await client.connect()
  try {
    for (const statement of text.split('; ')) await client.query(statement)
  } finally {
    await client.end()
  }
}

describe('the doctor, where an object of the schema is not as the release makes it', async () => {
  const host = await testHost()

  /** Runs the doctor on a database of its own in which something was changed. */
  async function examine(change: string) {
    const url = await host.database.another()
    await run(url, change)
    const { code, stdout, stderr } = await outlay(['doctor', '--json'], { DATABASE_URL: url })
    if (stdout === '') throw new Error(stderr)
    const { findings } = JSON.parse(stdout) as { findings: readonly Finding[] }
    const ofObjects = findings.filter((finding) => finding.code.startsWith('object_'))
    return { url, code, findings: ofObjects }
  }

  const remoteId = 'outlay.transfer (remote_id, account_id) where remote_id is not null'
  const cases: readonly [change: string, code: string, what: string, cure: string][] = [
    [
      'alter table outlay.transfer drop constraint transfer_key',
      'object_missing',
      '1 constraint of the schema "outlay" is not there: transfer_key of transfer.',
      'alter table "outlay".transfer add constraint transfer_key UNIQUE (account_id, idempotency_key)',
    ],
    [
      'alter table outlay.transfer drop constraint transfer_key, add constraint transfer_key unique (account_id, idempotency_key, id)',
      'object_changed',
      'transfer_key of transfer',
      'drop constraint transfer_key, add',
    ],
    [
      'alter table outlay.stop drop constraint stop_scope_check',
      'object_missing',
      'stop_scope_check of stop',
      'add constraint stop_scope_check CHECK',
    ],
    [
      'drop index outlay.transfer_gateway_remote_id',
      'object_missing',
      '1 index of the schema "outlay" is not there: transfer_gateway_remote_id of transfer.',
      'UNIQUE INDEX CONCURRENTLY transfer_gateway_remote_id ON "outlay".transfer ',
    ],
    [
      `drop index outlay.transfer_gateway_remote_id; create index transfer_gateway_remote_id on ${remoteId}`,
      'object_changed',
      'transfer_gateway_remote_id of transfer',
      'outlay stop --all',
    ],
    [
      'drop index outlay.transfer_gateway_poll, outlay.outbox_ready',
      'object_missing',
      '2 indexes of the schema',
      'INDEX CONCURRENTLY',
    ],
    [
      `update pg_index set indisvalid = false where indexrelid = 'outlay.transfer_gateway_remote_id'::regclass`,
      'object_invalid',
      'transfer_gateway_remote_id of transfer',
      'drop index "outlay".transfer_gateway_remote_id; CREATE',
    ],
    [
      'alter function outlay.settle rename to x_settle',
      'object_missing',
      '1 function of the schema "outlay" is not there: settle.',
      `where name in ('functions/settle')`,
    ],
    ['alter function outlay.resolve rename to x_resolve', 'object_missing', 'resolve', `'functions/resolve'`],
    [
      `create or replace function outlay.iso(p_at timestamptz) returns text language sql immutable as 'select p_at::text'`,
      'object_changed',
      'iso',
      `'functions/iso'`,
    ],
    ['alter function outlay.settle reset lock_timeout', 'object_changed', 'settle', `'functions/settle'`],
    [
      'alter table outlay.migration disable trigger guard_migration',
      'object_changed',
      'guard_migration of migration',
      'outlay migrate',
    ],
    [
      'alter view outlay.stuck_transfers rename to x_stuck',
      'object_missing',
      '1 view of the schema "outlay" is not there: stuck_transfers.',
      `'views/stuck_transfers'`,
    ],
    [
      'alter view outlay.stuck_transfers rename column waits_for to later',
      'object_changed',
      'stuck_transfers',
      'drop it first',
    ],
    [
      'alter table outlay.archive rename to x_archive',
      'object_missing',
      '1 table of the schema "outlay" is not there: archive.',
      'move it back',
    ],
    ['alter table outlay.delivery rename to x_delivery', 'object_missing', 'delivery', 'restore a backup'],
    [
      'alter table outlay.transfer rename column unknown_since to later',
      'object_missing',
      'unknown_since of transfer',
      'rename it',
    ],
    ['alter domain outlay.stage drop constraint stage_check', 'object_changed', 'stage', 'Undo it'],
  ]
  it.each(cases)('finds it: %s', async (change, code, what, cure) => {
    const examined = await examine(change)
    expect([examined.code, examined.findings.map((finding) => finding.code)]).toEqual([1, [code]])
    expect(examined.findings[0]?.what).toContain(what)
    expect(examined.findings[0]?.cure).toContain(cure)
  })

  it('finds nothing any more once somebody has done what it says', async () => {
    const { url, findings } =
      await examine(`alter function outlay.settle rename to x_settle; alter view outlay.stuck_transfers rename to x_stuck;
      alter table outlay.transfer drop constraint transfer_key; drop index outlay.transfer_gateway_remote_id`)
    const cures = findings.map(({ cure }) => cure)
    for (const cure of cures) {
      const text = /"(delete .*?\))"/.exec(cure)?.[1] ?? /schema: (.*)$/.exec(cure)?.[1] ?? ''
      await run(url, text)
    }
    expect((await outlay(['migrate'], { DATABASE_URL: url })).code).toBe(0)
    const { stdout } = await outlay(['doctor', '--json'], { DATABASE_URL: url })
    expect(JSON.parse(stdout)).toMatchObject({ healthy: true })
  })

  it('says nothing of them where a later release has migrated', async () => {
    const { findings } =
      await examine(`begin; set local outlay.migrating = 'yes'; insert into outlay.migration (name, checksum) values ('0099_later', 'x');
      drop index outlay.transfer_gateway_remote_id; commit`)
    expect(findings).toEqual([])
  })
})
