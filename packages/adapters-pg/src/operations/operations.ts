import type { Adoption, OperatorNote, SendingState, StopTarget } from '@outlay/core'
import { Column, type Operations, rowDecoder } from '@outlay/core/adapter'
import type { Driver } from '../database/driver.ts'
import { readFirst } from '../database/read-rows.ts'
import { statements } from '../database/statement.ts'
import type { TransferStore } from '../transfers/transfers.ts'
import { createReconciliationStore } from './reconciliation.ts'

const texts = {
  sending_state: 'select {{schema}}.sending_state() as state',
  check_identity: 'select {{schema}}.check_identity($1, $2, $3::timestamptz) as state',
  add_stop: `insert into {{schema}}.stop (scope, name, reason, actor) values ($1, $2, $3, $4)
    on conflict do nothing returning scope`,
  end_stop: `with ended as (
      delete from {{schema}}.stop s where s.scope = $1 and s.name = $2 and ($3::text is null or {{schema}}.iso(s.since) = $3) returning s.scope, s.name
    ), started as (
      insert into {{schema}}.started_gateway (name) select e.name from ended e where e.scope = 'gateway' on conflict do nothing
    )
    select e.scope from ended e`,
  adopt_database: 'select {{schema}}.adopt_database($1, $2, $3, $4) as done',
  fence: 'select {{schema}}.fence($1, $2) as done',
  notify: `select pg_notify('{{channel}}', '')::text`,
} as const

/** What a worker learned about its database. */
export interface IdentityState extends SendingState {
  /** What changed since it was last seen: a fail-over to a standby, a restore, or a history without what was seen. */
  readonly news: 'failed_over' | 'restored' | 'rewound' | null
}

/** Reads what may be sent from here, for a worker. Calls `onSent` when the read has a connection. */
export type CheckIdentity = (
  deployment: string | undefined,
  environment: string | undefined,
  knownSeenAt: string | null,
  onSent: () => void,
) => Promise<IdentityState>

/** Makes the read with which workers find out whether anything may be sent from here. */
export function createIdentityCheck<Tx>(driver: Driver<Tx>, tokens: Readonly<Record<string, string>>): CheckIdentity {
  const sql = statements(tokens, texts)
  return async (deployment, environment, knownSeenAt, onSent) => {
    const values = [deployment ?? null, environment ?? null, knownSeenAt]
    const [row = {}] = await driver.query(sql.check_identity, values, onSent)
    return readIdentityState(row).state
  }
}

/** Makes the store of what may be sent, on a driver. */
export function createOperations<Tx>(
  driver: Driver<Tx>,
  tokens: Readonly<Record<string, string>>,
  transfers: TransferStore<Tx>,
): Operations<Tx> {
  const sql = statements(tokens, texts)
  const nameOf = (target: StopTarget) => (target.scope === 'all' ? '' : target.name)
  const noteOf = ({ reason, actor }: OperatorNote) => [reason ?? null, actor ?? null]
  return {
    ...createReconciliationStore(driver, tokens, transfers),
    async state(tx) {
      const [row = {}] = await (tx === undefined
        ? driver.query(sql.sending_state, [])
        : driver.execute(tx, sql.sending_state, []))
      return readState(row).state
    },
    async addStop(tx, target, note) {
      const values = [target.scope, nameOf(target), ...noteOf(note)]
      const added = await driver.execute(tx, sql.add_stop, values)
      await driver.execute(tx, sql.notify, [])
      return added.length > 0
    },
    async endStop(tx, target, since) {
      const ended = await driver.execute(tx, sql.end_stop, [target.scope, nameOf(target), since ?? null])
      await driver.execute(tx, sql.notify, [])
      return ended.length > 0
    },
    async adoptDatabase(tx, { deployment, moved = false, ...note }: Adoption) {
      await driver.execute(tx, sql.adopt_database, [deployment ?? null, moved, ...noteOf(note)])
    },
    async fence(tx, note) {
      return readFirst(readFenced, await driver.execute(tx, sql.fence, noteOf(note)))?.done === true
    },
  }
}

const readIdentityState = rowDecoder('state of the identity', { state: Column.json<IdentityState>() })
const readState = rowDecoder('sending', { state: Column.json<SendingState>() })
const readFenced = rowDecoder('fence', { done: Column.or(Column.boolean, false) })
