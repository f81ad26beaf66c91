import { waitUntil } from '@outlay/testing'
import type { PoolClient } from 'pg'
import { describe, expect, it } from 'vitest'
import { outlay, testHost } from '../../test/outbox.ts'
import type { Finding } from './finding.ts'

describe('the doctor, while another session has a table locked', async () => {
  const host = await testHost()

  /** Runs the doctor while a transaction with a lock is open. */
  async function examineBehind(lock: string, work?: (client: PoolClient) => Promise<unknown>) {
    const client = await host.pool.connect()
    try {
      await client.query(`set application_name = 'a host'; begin; ${lock}`)
      await work?.(client)
      const { code, stdout } = await outlay(['doctor', '--json'], { DATABASE_URL: host.database.url })
      const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
      return { code, pid: rows[0]?.pid, findings: (JSON.parse(stdout) as { findings: Finding[] }).findings }
    } finally {
      await client.query('rollback; reset application_name')
      client.release()
    }
  }

  it.each(['transfer', 'migration', 'subscription_lag'])(
    'says who has locked %s, instead of waiting',
    async (table) => {
      const { code, pid, findings } = await examineBehind(`lock table outlay.${table} in access exclusive mode`)
      expect([code, findings.map((finding) => finding.code)]).toEqual([1, ['table_locked', 'not_checked']])
      const [{ what, cure } = { what: '', cure: '' }] = findings
      expect(what).toContain(`Process ${pid} (a host, `)
      expect(what).toContain(`outlay.${table}`)
      expect(what).toContain('AccessExclusiveLock')
      expect(cure).toContain(`pg_terminate_backend(${pid})`)
    },
  )

  it('says who waits for such a lock, and for whom', async () => {
    const waiting = await host.pool.connect()
    try {
      await waiting.query('begin')
      const { rows } = await waiting.query<{ pid: number }>('select pg_backend_pid() as pid')
      let locked: Promise<unknown> | undefined
      const { pid, findings } = await examineBehind('select 1 from outlay.transfer', async () => {
        locked = waiting.query('lock table outlay.transfer in access exclusive mode')
        const waits = `select from pg_locks where pid = ${rows[0]?.pid} and not granted`
        await waitUntil(async () => (await host.pool.query(waits)).rowCount === 1)
      })
      const [{ what } = { what: '' }] = findings
      expect(what).toContain(`Process ${rows[0]?.pid} (`)
      expect(what).toContain(`waits to lock outlay.transfer for process ${pid} (AccessExclusiveLock)`)
      await locked
    } finally {
      await waiting.query('rollback')
      waiting.release()
    }
  })

  it('names one that has kept only writers waiting for long, and checks the rest', async () => {
    const lock = 'lock table outlay.transfer in exclusive mode'
    const isOld = `select 1 where clock_timestamp() - now() > interval '5 seconds'`
    const { code, pid, findings } = await examineBehind(lock, (client) =>
      waitUntil(async () => (await client.query(isOld)).rowCount === 1),
    )
    expect([code, findings[0]?.code]).toEqual([1, 'table_locked'])
    expect(findings[0]?.what).toMatch(new RegExp(`^Process ${pid} .*Whoever writes there waits\\.$`))
    expect(findings.map((finding) => finding.code)).toContain('no_workers')
  })
})
