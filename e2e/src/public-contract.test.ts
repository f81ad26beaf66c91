import { waitUntil } from '@outlay/testing'
import { testDatabase } from '@outlay/testing/vitest'
import { describe, expect, it } from 'vitest'
import { type Accepted, startContractServer } from '../../packages/http-client/test/public-contract/contract-server.ts'
import * as examples from '../../packages/http-client/test/public-contract/examples.ts'
import { migrateHost, openHost } from './host.ts'

const wallet = '01BX5ZZKBKACTAV9WEVGEMMVS0'

const payout = {
  accountId: '01ARZ3NDEKTSV4RRFFQ69G5FAV',
  amount: { value: '12.50', currency: 'USD' },
  source: { addressId: wallet, valueType: 'USDC', transferType: 'base' },
  destination: { addressId: '2VfUX0sTIvUqLYkHYyWAXXqzVw1', valueType: 'USD', transferType: 'wire', wireMemo: 'July' },
}

/** A service that speaks the public contract, with transfers whose rows a test changes. */
async function openService() {
  const server = await startContractServer()
  const rows: Record<string, unknown>[] = []
  const reads: string[] = []
  const create = (body: object) => {
    const id = `2VfUX0sTIvUqLYkHYyWAXXqz${String(rows.length).padStart(3, '0')}`
    rows.push({ ...examples.transfer, ...body, id, status: 'pending' })
    return { status: 201, body: { id } }
  }
  server.answerWith(({ method, path, body }: Accepted) => {
    if (method === 'POST') return create(body as object)
    reads.push(path)
    const row = rows.find(({ id }) => path.endsWith(`/${id}`))
    if (row !== undefined) return { status: 200, body: row }
    return { status: 200, body: { transfers: rows.toReversed(), pagination: examples.lastPage } }
  })
  return { server, rows, reads }
}

describe('an engine before a service of the public contract', async () => {
  const database = await testDatabase({ key: 'host', prepare: migrateHost })

  it('takes no unreadable row and no passing failure for an end', async () => {
    const { server, rows, reads } = await openService()
    const settings = { databaseUrl: await database.another(), serviceUrl: server.url, clientId: 'c', clientSecret: 's' }
    const host = openHost(settings, { jitter: 0.05, dialect: 'public' })
    const read = async () => {
      const query = 'select remote_id, status, stage from outlay.transfer order by remote_id'
      const found = await host.pool.query<{ status: string; stage: string }>(query)
      return found.rows.map(({ status, stage }) => `${status} ${stage}`)
    }
    const reach = async (...wanted: readonly string[]) => {
      let last: readonly string[] = []
      await waitUntil(
        async () => {
          last = await read()
          return last.length === wanted.length && wanted.every((state, index) => state === last[index])
        },
        { describe: () => `${wanted.join()}, and not ${last.join()}` },
      )
    }
    try {
      await host.engine.start()
      await host.transaction(async (tx) => {
        for (let index = 0; index < 12; index += 1)
          await host.engine.transfers.enqueue(tx, { ...payout, idempotencyKey: `payout-${index}` })
      })
      await waitUntil(async () => rows.length === 12, { describe: () => 'twelve creates' })
      const isList = (path: string) => path.endsWith('/transfers')
      await waitUntil(async () => reads.some(isList), {
        describe: () => 'a list, which few transfers would not be worth',
      })
      const achReturn = { code: 'R03', reason: 'No account', category: 'administrative' }
      const returned = {
        type: 'ach',
        occurred_at: examples.transfer.updated_at,
        retriable: false,
        ach_return: achReturn,
      }
      const ends = [
        { status: 'failed', failure: 'nonce too low' },
        { status: 'settled' },
        { status: 'failed', failure: returned },
      ]
      for (const [index, row] of rows.entries()) Object.assign(row, ends[index] ?? { status: 'complete' })
      const complete = Array<string>(9).fill('complete settled')
      await reach('failed submitted', 'pending submitted', 'failed settled', ...complete)
      // Whatever reads it, the list or the request for it alone, what cannot be read changes nothing.
      const before = reads.length
      const alone = () => reads.slice(before).some((path) => path.endsWith(String(rows[1]?.['id'])))
      await waitUntil(async () => alone() && reads.length > before + 3, { describe: () => 'further reads' })
      await reach('failed submitted', 'pending submitted', 'failed settled', ...complete)
      Object.assign(rows[0] ?? {}, { status: 'complete', failure: null })
      Object.assign(rows[1] ?? {}, { status: 'canceled', failure: 'Refused by compliance.' })
      await reach('complete settled', 'canceled settled', 'failed settled', ...complete)
      expect(rows).toHaveLength(12)
      expect(server.violations).toEqual([])
    } finally {
      await host.close()
      await server.close()
    }
  })
})
