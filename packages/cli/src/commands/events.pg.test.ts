import type { EnqueueRequest } from '@outlay/core'
import { waitUntil } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { outlay, testHost } from '../../test/outbox.ts'
import { runOutlay } from '../run.ts'

describe('outlay events tail', async () => {
  const host = await testHost()
  const { database } = host

  it('prints the events of one account that stand behind pages of those of another', async () => {
    // The first event of a transfer is stored where a subscription wants it.
    await host.pool.query(`insert into outlay.subscription (name, types) values ('books', '{transfer.enqueued}')`)
    const { request } = await host.enqueue({ accountId: 'acme' })
    const one = { ...request, accountId: 'big' } as EnqueueRequest
    await host.commit((tx) =>
      host.engine.transfers.enqueueMany(
        tx,
        Array.from({ length: 2_500 }, () => one),
      ),
    )
    await host.enqueue({ accountId: 'acme' })
    const tail = async (account: string) => {
      const args = ['events', 'tail', '--once', '--since', '1h', '--account', account, '--json']
      const { code, stdout } = await outlay(args, { DATABASE_URL: database.url })
      expect(code).toBe(0)
      return stdout.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line).accountId as string]))
    }
    // A transaction that is open in any database of the server holds the stream up, so a read may be early.
    const big = await waitUntil(
      async () => {
        const accounts = await tail('big')
        return accounts.length === 2_500 ? accounts : undefined
      },
      { timeoutMs: 150_000 },
    )
    expect(new Set(big)).toEqual(new Set(['big']))
    await waitUntil(async () => (await tail('acme')).length === 2, { timeoutMs: 150_000 })
    expect(new Set(await tail('acme'))).toEqual(new Set(['acme']))
  })

  /** Runs `work` while a transaction that has written something is open. */
  async function behindOpenTransaction<T>(work: (pid: number) => Promise<T>): Promise<T> {
    const client = await host.pool.connect()
    try {
      await client.query(`set application_name = 'a host'; begin; create temporary table written (id text)`)
      const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
      return await work(rows[0]?.pid ?? 0)
    } finally {
      await client.query('rollback; reset application_name')
      client.release()
    }
  }

  it('says that events are held back behind an open transaction, and behind whose', async () => {
    await host.pool.query(`insert into outlay.subscription (name, types) values ('books', '{transfer.enqueued}')`)
    await behindOpenTransaction(async (pid) => {
      const { id } = await host.enqueue()
      const args = ['events', 'tail', '--once', '--since', '15m', '--transfer', id]
      const text = await outlay(args, { DATABASE_URL: database.url })
      expect(text).toMatchObject({ code: 0, stdout: '' })
      expect(text.stderr).toMatch(/^An event is held back behind .* open since \S+Z\): .*\n$/)
      const json = await outlay([...args, '--json'], { DATABASE_URL: database.url })
      expect(JSON.parse(json.stderr)).toMatchObject({ heldBack: { events: 1, since: expect.stringMatching(/Z$/) } })
      // An older transaction may be open in another database of the server.
      await waitUntil(async () =>
        (await outlay(args, { DATABASE_URL: database.url })).stderr.includes(`process ${pid} (a host, `),
      )
    })
  })

  it('says so while it waits for events', async () => {
    await host.pool.query(`insert into outlay.subscription (name, types) values ('books', '{transfer.enqueued}')`)
    await behindOpenTransaction(async (pid) => {
      await host.enqueue()
      const abort = new AbortController()
      let stderr = ''
      const context = { env: { DATABASE_URL: database.url }, signal: abort.signal, interactive: false, stdout() {} }
      const tail = runOutlay(['events', 'tail', '--since', '1h'], {
        ...context,
        stderr(text) {
          stderr += text
        },
      })
      await waitUntil(async () => stderr.includes(`process ${pid} `))
      abort.abort()
      expect(await tail).toBe(0)
    })
  })

  it('says nothing where nothing is held back', async () => {
    await behindOpenTransaction(async () => {
      const { stderr } = await outlay(['events', 'tail', '--once', '--since', '15m'], { DATABASE_URL: database.url })
      expect(stderr).toBe('')
    })
  })
})
