import { type CounterpartyDetails, OutlayError } from '@outlay/core'
import { atGateway, Column, type NewTransfer, rowDecoder } from '@outlay/core/adapter'
import type { Driver } from '../database/driver.ts'
import { mayWrite } from '../database/enqueue-mark.ts'
import { readFirst } from '../database/read-rows.ts'
import { type Row, statements } from '../database/statement.ts'

const texts = {
  keep_counterparties: `with kept as (
      insert into {{schema}}.counterparty_details (transfer_id, account_id, fingerprint, details)
      select n.id, n.account_id, n.fingerprint, n.details::jsonb
      from unnest($1::text[], $2::text[], $3::text[], $4::text[]) as n (id, account_id, fingerprint, details)
      where ${mayWrite("''")}
    )
    select ${mayWrite("''")} as kept`,
  counterparty_details: `select d.fingerprint, d.details from {{schema}}.counterparty_details d where d.transfer_id = $1`,
  wipe_counterparties: `with ended as (
      select d.transfer_id from {{schema}}.counterparty_details d join {{schema}}.transfer t on t.id = d.transfer_id
      where t.stage = 'settled' and t.updated_at < clock_timestamp() - interval '30 days' for update of d skip locked
    ), unwatched as (
      delete from {{schema}}.payment_watch w using {{schema}}.transfer t where t.id = w.transfer_id and t.stage = 'settled'
    )
    delete from {{schema}}.counterparty_details d using ended e where d.transfer_id = e.transfer_id returning d.transfer_id`,
} as const

/** The store of counterparties that transfers give with all details, while the service does not know them. */
export type CounterpartyStore<Tx> = ReturnType<typeof createCounterpartyStore<Tx>>

/** Makes the store of counterparties on a driver. */
export function createCounterpartyStore<Tx>(driver: Driver<Tx>, tokens: Readonly<Record<string, string>>) {
  const sql = statements(tokens, texts)
  return {
    /** Keeps the details of the counterparties that these transfers give, in the transaction that wrote the transfers. */
    async keep(tx: Tx, transfers: readonly NewTransfer[]): Promise<void> {
      const kept = transfers.flatMap(({ id, accountId, gateway, counterparty }) =>
        counterparty === undefined ? [] : [{ id, accountId: atGateway({ gateway, accountId }), ...counterparty }],
      )
      const rows = await driver.execute(tx, sql.keep_counterparties, [
        kept.map(({ id }) => id),
        kept.map(({ accountId }) => accountId),
        kept.map(({ fingerprint }) => fingerprint),
        kept.map(({ address }) => JSON.stringify(address)),
      ])
      if (readFirst(readKept, rows)?.kept !== true) throw lostDetails()
    },
    /** Details of a transfer's counterparty; `undefined` when it is registered, was given by its id, or was wiped. */
    async find(tx: Tx, transferId: string): Promise<CounterpartyDetails | undefined> {
      return readFirst(readDetails, await driver.execute(tx, sql.counterparty_details, [transferId]))
    },
    /**
     * Wipes the details of counterparties whose transfer ended 30 days ago without having registered them; returns how many. What ended before it was sent is not
     * compared with others any more.
     */
    async wipeEnded(): Promise<number> {
      return (await driver.query(sql.wipe_counterparties, [])).length
    },
  }
}

/** Behind the savepoint of another enqueue they might be undone, and their transfers not. */
function lostDetails(): OutlayError {
  const message =
    'An enqueueMany of thousands has begun in this transaction before the details of these counterparties were written: roll back, and await one call before the next.'
  return new OutlayError('conflict', message, { field: 'tx' })
}

const readKept = rowDecoder('counterparties', { kept: Column.boolean })
const readDetails: (row: Row) => CounterpartyDetails = rowDecoder('counterparty', {
  fingerprint: Column.text,
  address: Column.from('details', Column.json<CounterpartyDetails['address']>()),
})
