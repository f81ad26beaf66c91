import { randomUUID } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import type { SeededClient } from '@outlay/service/sandbox'
import { type Program, spawnNode, waitUntil } from '@outlay/testing'
import { openSubject, type ServiceSubject } from '@outlay/testing/conformance/cases'
import { testDatabase } from '@outlay/testing/vitest'
import { describe, expect, it } from 'vitest'
import { payoutBody, toOptions } from './account.ts'
import { seedClient } from './stage.ts'

const entry = fileURLToPath(new URL('../../packages/service/dist/sandbox/main.js', import.meta.url))

/** What a client has after a create: its key and, if an answer came, the answer. */
interface Receipt {
  readonly key: string
  readonly text: string | undefined
}

describe('the service killed with SIGKILL while clients create', async () => {
  const database = await testDatabase()

  it('every answer is still true, every key replays the same bytes, every transfer ends', async () => {
    const env = { DATABASE_URL: database.url, PORT: '0' }
    let program: Program = await spawnNode(entry, { env: { ...env, SEED: JSON.stringify([seedClient]) } })
    const { url, clients } = program.ready as { readonly url: string; readonly clients: readonly [SeededClient] }
    const options = toOptions(url, clients[0])
    let account = await openSubject(options)
    const body = await payoutBody(account)
    const receipts: Receipt[] = []
    for (const answered of [40, 80]) {
      receipts.push(...(await createUntilKilled(account, body, answered, () => program.kill('SIGKILL'))))
      program = await spawnNode(entry, { env: { ...env, PORT: new URL(url).port } })
      account = await openSubject(options)
    }
    const lost = receipts.filter(({ text }) => text === undefined)
    expect(lost.length).toBeGreaterThan(0)

    const ids = new Set<string>()
    for (const { key, text } of receipts) {
      const again = await account.create(body, { key })
      expect(again.status).toBe(201)
      if (text !== undefined) expect([again.text, again.headers.get('idempotent-replayed')]).toEqual([text, 'true'])
      ids.add(again.json.id)
    }
    expect(ids.size).toBe(receipts.length)
    await waitUntil(
      async () => {
        await account.advance(60)
        return (await listAll(account, 'complete')).length === receipts.length
      },
      { timeoutMs: 60_000, describe: 'every transfer to be complete' },
    )
    expect(new Set(await listAll(account))).toEqual(ids)
    const left = (1_000_000 - receipts.length).toFixed(2)
    expect(await account.balance('USDC', 'base')).toEqual({ total: left, available: left })
    await program.stop()
  })
})

/** Creates from 16 clients at once until the service is killed after some answers. */
async function createUntilKilled(
  account: ServiceSubject,
  body: unknown,
  answered: number,
  kill: () => Promise<unknown>,
): Promise<readonly Receipt[]> {
  const receipts: Receipt[] = []
  let killing: Promise<unknown> | undefined
  const client = async () => {
    for (;;) {
      const key = randomUUID()
      try {
        const answer = await account.create(body as object, { key })
        expect(answer.status).toBe(201)
        receipts.push({ key, text: answer.text })
      } catch (error) {
        if (!(error instanceof TypeError)) throw error
        receipts.push({ key, text: undefined })
        return
      }
      if (receipts.length >= answered) killing ??= kill()
    }
  }
  await Promise.all(Array.from({ length: 16 }, client))
  await killing
  return receipts
}

async function listAll(account: ServiceSubject, status?: string): Promise<readonly string[]> {
  const ids: string[] = []
  let after: string | null = null
  do {
    const query: Record<string, string> = {
      'page[size]': '100',
      ...(status === undefined ? {} : { status }),
      ...(after === null ? {} : { 'page[after]': after }),
    }
    const { json } = await account.call<{ transfers: { id: string }[]; pagination: { next: string | null } }>(
      'GET',
      account.at('/transfers'),
      { query },
    )
    ids.push(...json.transfers.map(({ id }) => id))
    after = json.pagination.next
  } while (after !== null)
  return ids
}
