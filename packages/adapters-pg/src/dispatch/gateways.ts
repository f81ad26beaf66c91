import { Column, rowDecoder } from '@outlay/core/adapter'
import type { Driver } from '../database/driver.ts'
import { readFirst } from '../database/read-rows.ts'
import { type Row, statements } from '../database/statement.ts'

const texts = {
  note_gateways: 'select {{schema}}.note_gateways($1::text[])::text',
  attend_gateways: 'select {{schema}}.attend_gateways($1::text[]) as count',
  unattended_gateways: `select u.gateway, u.transfers, u.sample, {{schema}}.iso(u.since) as since
    from {{schema}}.unattended_gateways() u`,
  known_gateways: 'select g.name from {{schema}}.attended_gateway g order by g.name',
} as const

/** A gateway of transfers that no running worker has: they wait. */
export interface UnattendedGateway {
  readonly gateway: string
  /** Its transfers that are not settled. */
  readonly transfers: number
  /** The oldest of them. */
  readonly sample: string
  /** When that was enqueued, ISO 8601. */
  readonly since: string
}

/** The store of which gateways workers have. */
export type GatewayStore = ReturnType<typeof createGatewayStore>

/** Makes the store of gateways on a driver. */
export function createGatewayStore<Tx>(driver: Driver<Tx>, tokens: Readonly<Record<string, string>>) {
  const sql = statements(tokens, texts)
  return {
    /** Records that this worker has these gateways; returns how many transfers waited for one of them and are due now. */
    async attend(names: readonly string[]): Promise<number> {
      // First, and committed on its own: others wait for a row that is written until what is due is written, too.
      await driver.query(sql.note_gateways, [names])
      return readFirst(readCount, await driver.query(sql.attend_gateways, [names]))?.count ?? 0
    },
    /** Gateways that a worker has or had. */
    async known(): Promise<readonly string[]> {
      return (await driver.query(sql.known_gateways, [])).map((row) => readName(row).name)
    },
    /** Gateways of unsettled transfers that no worker has had for two minutes. Reads all transfers that are not settled. */
    async unattended(): Promise<readonly UnattendedGateway[]> {
      return (await driver.query(sql.unattended_gateways, [])).map(readUnattended)
    },
  }
}

const readName = rowDecoder('gateway', { name: Column.text })

const readCount = rowDecoder('gateways', { count: Column.integer })

/** Reads a row of a gateway that no worker has. */
export const readUnattended: (row: Row) => UnattendedGateway = rowDecoder('unattended gateway', {
  gateway: Column.text,
  transfers: Column.integer,
  sample: Column.text,
  since: Column.text,
})
