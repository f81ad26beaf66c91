import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Command } from 'commander'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { outlay, testHost } from '../../test/outbox.ts'
import { createProgram } from './program.ts'

/** Commands without an entry in the audit, by the reason. A new command stands here or among those that have one. */
const others: Readonly<Record<string, readonly string[]>> = {
  'prints, and changes nothing': [
    ...['doctor', 'status', 'prove', 'stats', 'transfers list', 'transfers show', 'accounts list', 'batches show'],
    ...['events tail', 'events dead', 'subscriptions list', 'policies show', 'limits show'],
    ...['audit', 'audit verify', 'audit export'],
  ],
  'serves the console, whose actions have entries': ['console'],
  'is a deployment: the table of migrations, the log or the catalog of the server has it': [
    ...['migrate', 'roles', 'policies prepare'],
  ],
  'moves history by its age, on a schedule, and every read is as before': ['archive'],
  'is several transactions on two databases, each with an entry': ['accounts move'],
}

/** The names of all commands that do something. */
const leavesOf = (command: Command, path: readonly string[] = []): readonly string[] =>
  command.commands.flatMap((sub) => {
    const own = [...path, sub.name()]
    // A group prints its help, unless it does something itself.
    const isGroup = sub.commands.length > 0 && sub.name() !== 'audit'
    return [...(isGroup ? [] : [own.join(' ')]), ...leavesOf(sub, own)]
  })

describe('the audit of what the command line does', async () => {
  const host = await testHost()
  const { pool, engine, commit } = host
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'outlay-audit-'))
  })
  afterAll(() => rm(folder, { recursive: true }))
  const write = async (name: string, content: string) => {
    const file = join(folder, name)
    await writeFile(file, content)
    return file
  }
  const note = { actor: 'olga', reason: 'a test' }
  const transfer = async (columns?: string) => {
    const { id } = await host.enqueue()
    if (columns !== undefined) await pool.query(`update outlay.transfer set ${columns} where id = $1`, [id])
    return id
  }
  const held = async (batchId?: string) => {
    const policy = { name: 'ruled', when: { accounts: ['ruled'] }, approvals: [{}] }
    await commit((tx) => engine.policies.set(tx, [policy], note))
    return (
      await host.enqueue({ accountId: 'ruled', createdBy: 'carl', ...(batchId === undefined ? {} : { batchId }) })
    ).id
  }
  const batch = async (columns = '') => {
    const { id } = await commit((tx) => engine.batches.create(tx))
    await host.enqueue({ batchId: id })
    if (columns === 'paused') await pool.query('insert into outlay.paused_batch (batch_id) values ($1)', [id])
    return id
  }
  const subscription = async () => {
    const other = host.again()
    other.subscribe('books', ['transfer.enqueued'], async () => undefined)
    await other.start()
    await other.stop()
    await pool.query(
      `update outlay.subscription set attended_at = null, attended = '{}', created_at = now() - interval '1 hour'`,
    )
  }
  const known = async (more = '') => {
    await host.enqueue()
    if (more !== '') await pool.query(more)
  }
  const by = ['--actor', 'ada', '--reason', 'because of a test']
  const approved = ['--actor', 'ada', '--note', 'because of a test']

  /** The command of the entry, and the arguments of a run that writes it. */
  const audited: Readonly<Record<string, readonly [string, () => Promise<readonly string[]>]>> = {
    'transfers cancel': ['transfers.cancel', async () => [await transfer(), ...by]],
    'transfers release': [
      'transfers.release',
      async () => [await transfer(`stage = 'blocked', reason = 'outcome_unknown'`), ...by],
    ],
    'transfers hold': ['transfers.hold', async () => [await transfer(), ...by]],
    'transfers approve': ['transfers.approve', async () => [await held(), ...approved]],
    'transfers reject': ['transfers.reject', async () => [await held(), ...by]],
    'transfers answer-screening': [
      'transfers.answer_screening',
      async () => {
        const policy = { name: 'screened', when: { accounts: ['screened'] }, screen: 'the list' }
        await commit((tx) => engine.policies.set(tx, [policy], note))
        const { id } = await host.enqueue({ accountId: 'screened', createdBy: 'carl' })
        return [id, '--result', 'refuse', ...by]
      },
    ],
    'transfers resolve': [
      'transfers.resolve',
      async () => [await transfer(`stage = 'blocked', reason = 'outcome_unknown'`), '--not-paid', ...by],
    ],
    'transfers resolve-return': [
      'transfers.resolve_return',
      async () => {
        const id = await transfer(`stage = 'settled', status = 'complete', remote_id = 'r-1'`)
        const returns = [{ code: 'R10', amount: null, occurredAt: '2026-01-09T09:00:00.000Z' }]
        const observation = { remoteId: 'r-1', status: 'complete', failure: null, returns } as const
        await commit((tx) => engine.transfers.observe(tx, 'acme', [observation]))
        const { rows } = await pool.query('select identity from outlay.transfer_return where transfer_id = $1', [id])
        return [id, '--return', rows[0].identity, '--dismiss', ...by]
      },
    ],
    'transfers resubmit': [
      'transfers.resubmit',
      async () => [await transfer(`stage = 'settled', status = 'canceled'`), ...by],
    ],
    'accounts pause': ['accounts.pause', async () => ['acme', ...by]],
    'accounts resume': [
      'accounts.resume',
      async () => {
        await known(`insert into outlay.account (account_id, paused) values ('acme', true)`)
        return ['acme', ...by]
      },
    ],
    'accounts limit': ['accounts.configure', async () => ['acme', '--rate', '5', ...by]],
    'accounts funds-arrived': [
      'accounts.funds_arrived',
      async () => {
        await transfer(`stage = 'awaiting_funds', reason = 'insufficient_balance'`)
        return ['acme', ...by]
      },
    ],
    'accounts retry-credentials': [
      'accounts.retry_credentials',
      async () => {
        await known(
          `insert into outlay.unauthorized_account (account_id, probe_at) values ('acme', now() + interval '1 hour')`,
        )
        return ['acme', ...by]
      },
    ],
    'batches close': ['batches.close', async () => [await batch(), ...by]],
    'batches pause': ['batches.pause', async () => [await batch(), ...by]],
    'batches resume': ['batches.resume', async () => [await batch('paused'), ...by]],
    'batches cancel': ['batches.cancel', async () => [await batch(), ...by]],
    'batches approve': [
      'transfers.approve',
      async () => {
        const { id } = await commit((tx) => engine.batches.create(tx))
        await held(id)
        return [id, ...approved]
      },
    ],
    'events replay': [
      'subscriptions.replay',
      async () => {
        await subscription()
        await known(`update outlay.delivery set dead = true, ready = false, last_error = 'no', failures = 9`)
        return ['books', ...by]
      },
    ],
    'subscriptions remove': [
      'subscriptions.remove',
      async () => {
        await subscription()
        return ['books', ...by]
      },
    ],
    stop: ['stops.add', async () => ['--account', 'acme', ...by]],
    'start-sending': [
      'stops.end',
      async () => {
        await known(`insert into outlay.stop (scope, name) values ('account', 'acme')`)
        return ['--account', 'acme', ...by]
      },
    ],
    fence: ['database.fence', async () => by],
    'adopt-database': ['database.adopt', async () => ['--moved', ...by]],
    reconcile: [
      'database.reconcile',
      async () => {
        await host.engine.start()
        await host.engine.stop()
        await commit((tx) => engine.fence(tx, note))
        const module =
          'export default { submit: async () => undefined, get: async () => undefined, list: async () => ({ observations: [] }) }'
        return ['--since', '1h', '--gateway-module', await write('gateway.mjs', module), ...by]
      },
    ],
    'policies set': [
      'policies.set',
      async () => {
        const policies = [{ name: 'ruled', when: { accounts: ['ruled'] }, refuse: 'not now' }]
        return [await write('policies.json', JSON.stringify(policies)), ...by]
      },
    ],
    'limits set': [
      'limits.set',
      async () => {
        const limits = [{ name: 'daily', most: { USD: '10000' }, span: 'day', zone: 'UTC' }]
        return [await write('limits.json', JSON.stringify(limits)), ...by]
      },
    ],
  }

  it('is known for every command', () => {
    const around = { env: {}, stdout: () => undefined, stderr: () => undefined, interactive: false }
    const program = createProgram({ ...around, signal: AbortSignal.timeout(1) }, '0', () => undefined)
    const listed = [...Object.keys(audited), ...Object.values(others).flat()]
    expect(listed.toSorted()).toEqual([...leavesOf(program)].sort())
  })

  it.each(Object.keys(audited))('has who and why of %s', async (name) => {
    const [command, prepare] = audited[name] ?? ['', async () => []]
    const args = await prepare()
    const { rows: before } = await pool.query('select coalesce(max(id), 0)::text as mark from outlay.audit')
    const run = await outlay([...name.split(' '), ...args], { DATABASE_URL: host.database.url })
    expect([run.code, run.stderr]).toEqual([0, ''])
    const { rows } = await pool.query('select command, actor, reason from outlay.audit where id > $1::bigint', [
      before[0].mark,
    ])
    expect(rows).toEqual([{ command, actor: 'ada', reason: 'because of a test' }])
  })
})
