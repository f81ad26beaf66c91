import { memoryGateway, recordingLogger, silentLogger, waitUntil } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { auditedCommands, type Surface } from '../../test/audited-commands.ts'
import { testHost } from '../../test/host.ts'
import { listedGateway } from '../../test/listed-gateway.ts'
import { inspect } from '../inspection/inspection.ts'
import { shards } from '../shards/shards.ts'

/** Members without an entry, by the reason. A new member stands here or among the commands that have one. */
const others: Readonly<Record<string, readonly string[]>> = {
  'reads and changes nothing': [
    ...['transfers.get', 'transfers.getByKey', 'transfers.find', 'transfers.holds', 'transfers.compare'],
    ...['accounts.get', 'batches.get', 'batches.getByKey', 'batches.review', 'stops.list'],
    ...['policies.get', 'policies.compare', 'limits.get', 'limits.uses', 'audit.list', 'audit.verify', 'audit.chain'],
    ...['accounts.placements', 'backlog', 'stats', 'sending', 'workers', 'check', 'health', 'nodeOf', 'migrationSql'],
    ...['transfers', 'totals', 'evidence', 'stuck', 'accounts', 'subscriptions', 'deadLetters', 'place', 'holds'].map(
      (name) => `inspection.${name}`,
    ),
    ...[
      'locks',
      'schema',
      'screening',
      'differences',
      'gateways',
      'gatewayFacts',
      'arePoliciesPrepared',
      'workers',
      'countUnsettled',
      'health',
      'tail',
    ].map((name) => `inspection.${name}`),
  ],
  'is the work of the host, not a decision about it: what it writes is the record': [
    ...['transfers.enqueue', 'transfers.enqueueMany', 'batches.create', 'transaction', 'pinTransaction'],
  ],
  'is what the other side says: the log of attempts and events have it': [
    'transfers.observe',
    'transfers.observeMany',
    'webhook',
  ],
  'is about this process': ['subscribe', 'subscribeMany', 'start', 'stop'],
  'is a deployment: the table of migrations, or the catalog of the server, has it': ['migrate', 'policies.prepare'],
  'moves history by its age, on a schedule, and every read is as before': ['archive'],
  'is several transactions, each with an entry': ['reconcile', 'accounts.move', 'accounts.follow', 'policies.setAll'],
}

const membersOf = (of: object, prefix = ''): readonly string[] =>
  Object.entries(of).flatMap(([name, value]) => {
    if (typeof value === 'function') return [`${prefix}${name}`]
    return Array.isArray(value) ? [] : membersOf(value as object, `${prefix}${name}.`)
  })

const note = { actor: 'ada', reason: 'because of a test' }

describe('the audit of commands', async () => {
  const host = await testHost()
  const { driver, commit, rows } = host
  const inspection = inspect({ driver })
  const over = shards({ route: () => 'east', engine: { gateway: memoryGateway() }, nodes: { east: { driver } } })

  const surfaces: Readonly<Record<string, () => Promise<Surface>>> = {
    'an engine': async () => ({ ...host.open(), inspection }),
    shards: async () => {
      await over.migrate()
      return { ...over, inspection }
    },
  }
  const newest = async (): Promise<string> =>
    (await rows('select coalesce(max(a.id), 0)::text as id from outlay.audit a'))[0]?.['id']
  const entriesAfter = (id: string) =>
    rows(
      `select a.command, a.actor, a.reason, a.login = session_user as by_login, a.before is not null as has_before,
         coalesce(a.before, a.after) is not null as says_what
       from outlay.audit a where a.id > $1::bigint order by a.id`,
      [id],
    )

  it('is known for every member of an engine, of shards and of an inspection', () => {
    const known = [...Object.keys(auditedCommands), ...Object.values(others).flat()]
    const members = [...membersOf(host.open()), ...membersOf(over), ...membersOf(inspection, 'inspection.')]
    expect(known.toSorted()).toEqual([...new Set(members)].sort())
  })

  describe.each(Object.keys(surfaces))('of %s', (surface) => {
    it.each(Object.keys(auditedCommands))('has who, what and why of %s once, with its transaction', async (name) => {
      const { as, before = false, prepare, run } = auditedCommands[name] as (typeof auditedCommands)[string]
      const on = (await surfaces[surface]?.()) as Surface
      const id = await prepare(host, host.open())
      const mark = await newest()
      const failed = commit(async (tx) => {
        await run(tx, on, id, note)
        throw new Error('rolled back')
      })
      await expect(failed).rejects.toThrow('rolled back')
      expect(await entriesAfter(mark)).toEqual([])
      await commit((tx) => run(tx, on, id, note))
      expect(await entriesAfter(mark)).toEqual([
        { command: as, ...note, by_login: true, has_before: before, says_what: true },
      ])
    })
  })

  const unnamed = Object.keys(auditedCommands).filter((name) => auditedCommands[name]?.unnamed !== false)

  it.each(unnamed)('has the login where nobody is named for %s', async (name) => {
    const { as, prepare, run } = auditedCommands[name] as (typeof auditedCommands)[string]
    const on = { ...host.open(), inspection }
    const id = await prepare(host, host.open())
    const mark = await newest()
    await commit((tx) => run(tx, on, id, {}))
    expect(await entriesAfter(mark)).toMatchObject([{ command: as, actor: null, reason: null, by_login: true }])
  })

  const repeatable = ['accounts.pause', 'accounts.watch', 'batches.close', 'batches.pause', 'stops.add']

  it.each(repeatable)('has no entry of a repeated %s, which changes nothing', async (name) => {
    const { prepare, run } = auditedCommands[name] as (typeof auditedCommands)[string]
    const on = { ...host.open(), inspection }
    const id = await prepare(host, host.open())
    await commit((tx) => run(tx, on, id, note))
    const mark = await newest()
    await commit((tx) => run(tx, on, id, note))
    expect(await entriesAfter(mark)).toEqual([])
  })

  const holdingBack = ['stops.add', 'accounts.pause', 'batches.pause', 'fence']

  describe.each(holdingBack)('of %s, which holds payments back', (name) => {
    const { as, prepare, run } = auditedCommands[name] as (typeof auditedCommands)[string]
    const isHeld = async () => {
      const [row] = await rows(
        `select exists (select from outlay.stop) or exists (select from outlay.paused_batch)
           or exists (select from outlay.account a where a.paused)
           or exists (select from outlay.known_database k where k.fenced_since is not null) as held`,
      )
      return row?.['held']
    }

    it('does without its entry while somebody has the audit locked, and says so in the log', async () => {
      const logger = recordingLogger()
      const on = { ...host.open({ logger }), inspection }
      const id = await prepare(host, host.open())
      const mark = await newest()
      await commit(async (other) => {
        await other.query('lock table outlay.audit in access exclusive mode')
        await commit((tx) => run(tx, on, id, note))
      })
      expect(await isHeld()).toBe(true)
      expect(await entriesAfter(mark)).toEqual([])
      expect(logger.entries).toMatchObject([{ level: 'warn', fields: { command: as, ...note } }])
    })

    it('does without its entry in a schema of an earlier release', async () => {
      const on = { ...host.open({ logger: silentLogger }), inspection }
      const id = await prepare(host, host.open())
      await rows('alter function outlay.try_audit rename to later')
      try {
        await commit((tx) => run(tx, on, id, note))
      } finally {
        await rows('alter function outlay.later rename to try_audit')
      }
      expect(await isHeld()).toBe(true)
    })
  })

  it('has what a change of limits replaced, also where two set the first ones at once', async () => {
    const engine = host.open()
    let second: Promise<void> | undefined
    await commit(async (tx) => {
      await engine.accounts.configure(tx, 'acme', { ratePerSecond: 5 }, note)
      second = commit((other) => engine.accounts.configure(other, 'acme', { weight: 2, ratePerSecond: null }, note))
      await waitUntil(async () => {
        const waiting = await rows(
          `select from pg_stat_activity a where a.datname = current_database() and a.wait_event_type = 'Lock'`,
        )
        return waiting.length > 0
      })
    })
    await second
    const limits = { accountId: 'acme', ratePerSecond: null, concurrency: null, weight: 1 }
    expect(await engine.audit.list({ command: 'accounts.configure' })).toMatchObject([
      { before: { ...limits, ratePerSecond: 5 }, after: { ...limits, weight: 2 } },
      { before: limits, after: { ...limits, ratePerSecond: 5 } },
    ])
  })

  it('has a reconciliation: what it wrote of an account, and that it lifted the fence', async () => {
    const gateway = listedGateway()
    const engine = host.open({ gateway })
    gateway.add()
    await commit((tx) => engine.fence(tx, { actor: 'olga', reason: 'restored' }))
    await engine.reconcile({ since: new Date(Date.now() - 60_000), accounts: ['acme'], ...note, dryRun: true })
    expect(await engine.audit.list({ command: 'database.reconcile' })).toEqual([])
    await engine.reconcile({ since: new Date(Date.now() - 60_000), accounts: ['acme'], ...note })
    expect(await engine.audit.list({ command: 'database.reconcile' })).toMatchObject([
      {
        ...{ ...note, before: { fence: { reason: 'restored', actor: 'olga' } } },
        after: { lifted: true, differences: 1, open: 0 },
      },
      { ...note, after: { accountId: 'acme', gateway: 'default', adopted: 1, blocked: 0, resent: 0 } },
    ])
  })
})
