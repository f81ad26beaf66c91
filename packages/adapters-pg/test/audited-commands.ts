import type { Engine, OperatorNote, ReturnResolution } from '@outlay/core'
import type pg from 'pg'
import type { inspect } from '../src/inspection/inspection.ts'
import type { Shards } from '../src/shards/shards.ts'
import type { HostEngine, TestHost } from './host.ts'
import { forgetAttendance } from './outbox.ts'

/** Who and why, as a person says it. */
export type Note = Required<{ readonly [K in keyof OperatorNote]: string }>

/** What an engine and shards have for commands. */
export type Surface = Pick<Engine<pg.PoolClient> | Shards<pg.PoolClient>, 'unsubscribe' | 'fence' | 'adoptDatabase'> & {
  readonly transfers: Pick<
    HostEngine['transfers'],
    'release' | 'cancel' | 'approve' | 'reject' | 'hold' | 'answerScreening' | 'resolve' | 'resolveReturn' | 'resubmit'
  >
  readonly accounts: Omit<HostEngine['accounts'], 'get'>
  readonly batches: Pick<HostEngine['batches'], 'close' | 'pause' | 'resume' | 'cancel' | 'approve'>
  readonly stops: Pick<HostEngine['stops'], 'add' | 'end'>
  readonly policies: Pick<HostEngine['policies'], 'set'>
  readonly limits: Pick<HostEngine['limits'], 'set'>
  readonly inspection: Pick<ReturnType<typeof inspect<pg.PoolClient>>, 'replayDeadLetters'>
}

/** A command whose entry in the audit is compared. */
export interface AuditedCommand {
  /** The command in its entry. */
  readonly as: string
  /** False where nobody may give it without a name. */
  readonly unnamed?: false
  /** True where the entry has what was before. */
  readonly before?: true
  /** Makes what the command is about; returns its id. */
  prepare(host: TestHost, engine: HostEngine): Promise<string>
  /** Gives the command; with a note of nothing where nobody is named. */
  run(tx: pg.PoolClient, on: Surface, id: string, note: OperatorNote): Promise<unknown>
}

const account = async (): Promise<string> => 'acme'

/** A transfer with other columns than an enqueue gives it. */
const transfer =
  (columns = '') =>
  async (host: TestHost, engine: HostEngine): Promise<string> => {
    const { id } = await host.enqueue(engine)
    if (columns !== '') await host.rows(`update outlay.transfer set ${columns} where id = $1`, [id])
    return id
  }

const held = async (host: TestHost, engine: HostEngine): Promise<string> => {
  await host.commit((tx) =>
    engine.policies.set(tx, [{ name: 'all', approvals: [{}] }], { actor: 'olga', reason: 'a test' }),
  )
  return (await host.enqueue(engine, { createdBy: 'carl' })).id
}

const screened = async (host: TestHost, engine: HostEngine): Promise<string> => {
  await host.commit((tx) =>
    engine.policies.set(tx, [{ name: 'all', screen: 'a test' }], { actor: 'olga', reason: 'a test' }),
  )
  return (await host.enqueue(engine, { createdBy: 'carl' })).id
}

const batch = async (host: TestHost, engine: HostEngine): Promise<string> => {
  const { id } = await host.commit((tx) => engine.batches.create(tx))
  await host.enqueue(engine, { batchId: id })
  return id
}

const subscription = async (host: TestHost): Promise<string> => {
  const other = host.open()
  other.subscribe('books', ['transfer.enqueued'], async () => undefined)
  await other.start()
  await other.stop()
  await forgetAttendance(host.pool)
  await host.rows(`update outlay.subscription set created_at = now() - interval '1 hour'`)
  return 'books'
}

const heldReturn = async (host: TestHost, engine: HostEngine): Promise<string> => {
  const id = await transfer(`stage = 'settled', status = 'complete', remote_id = 'r-1'`)(host, engine)
  const back = { code: 'R10', amount: null, occurredAt: '2026-01-09T09:00:00.000Z' }
  await host.commit((tx) =>
    engine.transfers.observe(tx, 'acme', [{ remoteId: 'r-1', status: 'complete', failure: null, returns: [back] }]),
  )
  return id
}

const blocked = transfer(`stage = 'blocked', reason = 'outcome_unknown'`)

/** The commands of transfers. */
const transfers: Readonly<Record<string, AuditedCommand>> = {
  'transfers.release': {
    ...{ as: 'transfers.release', before: true, prepare: blocked },
    run: (tx, on, id, note) => on.transfers.release(tx, id, note),
  },
  'transfers.cancel': {
    ...{ as: 'transfers.cancel', before: true, prepare: transfer() },
    run: (tx, on, id, note) => on.transfers.cancel(tx, id, note),
  },
  'transfers.approve': {
    ...{ as: 'transfers.approve', before: true, unnamed: false, prepare: held },
    run: (tx, on, id, { actor = '', reason }) => on.transfers.approve(tx, id, { actor, note: reason }),
  },
  'transfers.reject': {
    ...{ as: 'transfers.reject', before: true, unnamed: false, prepare: held },
    run: (tx, on, id, note) => on.transfers.reject(tx, id, note as Note),
  },
  'transfers.hold': {
    ...{ as: 'transfers.hold', before: true, unnamed: false, prepare: transfer() },
    run: (tx, on, id, note) => on.transfers.hold(tx, id, note as Note),
  },
  'transfers.answerScreening': {
    ...{ as: 'transfers.answer_screening', before: true, unnamed: false, prepare: screened },
    run: (tx, on, id, note) => on.transfers.answerScreening(tx, id, { result: 'refuse', ...(note as Note) }),
  },
  'transfers.resolve': {
    ...{ as: 'transfers.resolve', before: true, prepare: blocked },
    run: (tx, on, id, note) => on.transfers.resolve(tx, id, { remoteId: 'r-2', ...note }),
  },
  'transfers.resolveReturn': {
    ...{ as: 'transfers.resolve_return', prepare: heldReturn },
    async run(tx, on, id, note) {
      const { rows } = await tx.query('select identity from outlay.transfer_return where transfer_id = $1', [id])
      const resolution = { identity: rows[0].identity, dismissed: true, ...note } as ReturnResolution
      await on.transfers.resolveReturn(tx, id, resolution)
    },
  },
  'transfers.resubmit': {
    ...{ as: 'transfers.resubmit', before: true, prepare: transfer(`stage = 'settled', status = 'canceled'`) },
    run: (tx, on, id, { actor, reason }) => on.transfers.resubmit(tx, id, { createdBy: actor, reason }),
  },
}

/** The commands of accounts and batches. */
const groups: Readonly<Record<string, AuditedCommand>> = {
  'accounts.fundsArrived': {
    ...{ as: 'accounts.funds_arrived', prepare: transfer(`stage = 'awaiting_funds', reason = 'insufficient_balance'`) },
    run: (tx, on, _, note) => on.accounts.fundsArrived(tx, 'acme', note),
  },
  'accounts.pause': {
    ...{ as: 'accounts.pause', before: true, prepare: account },
    run: (tx, on, id, note) => on.accounts.pause(tx, id, note),
  },
  'accounts.resume': {
    ...{ as: 'accounts.resume', before: true },
    async prepare(host) {
      await host.rows(`insert into outlay.account (account_id, paused) values ('acme', true)`)
      return 'acme'
    },
    run: (tx, on, id, note) => on.accounts.resume(tx, id, note),
  },
  'accounts.retryCredentials': {
    as: 'accounts.retry_credentials',
    async prepare(host) {
      await host.rows(
        `insert into outlay.unauthorized_account (account_id, probe_at) values ('acme', now() + interval '5 minutes')`,
      )
      return 'acme'
    },
    run: (tx, on, id, note) => on.accounts.retryCredentials(tx, id, note),
  },
  'accounts.watch': {
    ...{ as: 'accounts.watch', prepare: account },
    run: (tx, on, id, note) => on.accounts.watch(tx, id, note),
  },
  'accounts.unwatch': {
    ...{ as: 'accounts.unwatch', before: true },
    async prepare(host) {
      await host.rows(`insert into outlay.watched_account (account_id, since, seen_to) values ('acme', now(), now())`)
      return 'acme'
    },
    run: (tx, on, id, note) => on.accounts.unwatch(tx, id, note),
  },
  'accounts.configure': {
    ...{ as: 'accounts.configure', before: true, prepare: account },
    run: (tx, on, id, note) => on.accounts.configure(tx, id, { ratePerSecond: 5 }, note),
  },
  'batches.close': {
    ...{ as: 'batches.close', before: true, prepare: batch },
    run: (tx, on, id, note) => on.batches.close(tx, id, note),
  },
  'batches.pause': {
    ...{ as: 'batches.pause', before: true, prepare: batch },
    run: (tx, on, id, note) => on.batches.pause(tx, id, note),
  },
  'batches.resume': {
    ...{ as: 'batches.resume', before: true },
    async prepare(host, engine) {
      const id = await batch(host, engine)
      await host.rows('insert into outlay.paused_batch (batch_id) values ($1)', [id])
      return id
    },
    run: (tx, on, id, note) => on.batches.resume(tx, id, note),
  },
  'batches.cancel': {
    ...{ as: 'batches.cancel', prepare: batch },
    run: (tx, on, id, note) => on.batches.cancel(tx, id, note),
  },
  'batches.approve': {
    ...{ as: 'transfers.approve', before: true, unnamed: false },
    async prepare(host, engine) {
      const { id } = await host.commit((tx) => engine.batches.create(tx))
      const policy = { name: 'all', approvals: [{}] }
      await host.commit((tx) => engine.policies.set(tx, [policy], { actor: 'olga', reason: 'a test' }))
      await host.enqueue(engine, { batchId: id, createdBy: 'carl' })
      return id
    },
    run: (tx, on, id, { actor = '', reason }) => on.batches.approve(tx, id, { actor, note: reason }),
  },
}

/** The commands about everything. */
const whole: Readonly<Record<string, AuditedCommand>> = {
  'stops.add': {
    ...{ as: 'stops.add', prepare: account },
    run: (tx, on, name, note) => on.stops.add(tx, { scope: 'account', name, ...note }),
  },
  'stops.end': {
    ...{ as: 'stops.end', before: true },
    async prepare(host) {
      await host.rows(`insert into outlay.stop (scope, name) values ('account', 'acme')`)
      return 'acme'
    },
    run: (tx, on, name, note) => on.stops.end(tx, { scope: 'account', name, ...note }),
  },
  'policies.set': {
    ...{ as: 'policies.set', before: true, unnamed: false, prepare: account },
    run: (tx, on, _, note) => on.policies.set(tx, [{ name: 'all', refuse: 'not now' }], note as Note),
  },
  'limits.set': {
    ...{ as: 'limits.set', before: true, unnamed: false, prepare: account },
    run: (tx, on, _, note) =>
      on.limits.set(tx, [{ name: 'day', most: { USD: '5' }, span: 'day', zone: 'UTC' }], note as Note),
  },
  fence: {
    ...{ as: 'database.fence', before: true, prepare: account },
    run: (tx, on, _, note) => on.fence(tx, note),
  },
  adoptDatabase: {
    ...{ as: 'database.adopt', before: true, prepare: account },
    run: (tx, on, _, note) => on.adoptDatabase(tx, { moved: true, ...note }),
  },
  unsubscribe: {
    ...{ as: 'subscriptions.remove', prepare: subscription },
    run: (tx, on, name, note) => on.unsubscribe(tx, name, note),
  },
  'inspection.replayDeadLetters': {
    as: 'subscriptions.replay',
    async prepare(host, engine) {
      const name = await subscription(host)
      await host.enqueue(engine)
      await host.rows(`update outlay.delivery set dead = true, ready = false, last_error = 'no', failures = 9`)
      return name
    },
    run: (tx, on, name, note) => on.inspection.replayDeadLetters(tx, name, undefined, note),
  },
}

/** The commands that have an entry, by their names in an engine or an inspection. */
export const auditedCommands: Readonly<Record<string, AuditedCommand>> = { ...transfers, ...groups, ...whole }
