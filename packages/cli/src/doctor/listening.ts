import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { lockTimeout } from '../session/impatient-driver.ts'
import type { Session } from '../session/session.ts'
import type { ConnectionFacts } from './diagnosis.ts'

/** Longest wait for a notification, in milliseconds. */
const waitMs = 2_000

/** Tests whether a connection like the session's receives notifications, and whether it goes through a pooler. */
export async function testListening({
  driver,
  connection,
}: Pick<Session, 'driver' | 'connection'>): Promise<ConnectionFacts> {
  const channel = `outlay_doctor_${randomBytes(6).toString('hex')}`
  const client = new pg.Client(connection)
  client.on('error', () => undefined)
  try {
    await client.connect()
    const notified = new Promise<boolean>((resolve) => {
      const timer = setTimeout(() => resolve(false), waitMs)
      client.on('notification', (notification) => {
        if (notification.channel !== channel) return
        clearTimeout(timer)
        resolve(true)
      })
    })
    await client.query(`begin; set local lock_timeout = '${lockTimeout}'; listen "${channel}"; commit`)
    // Sent over another connection: behind a pooler the next statement of this one may reach the server that listens.
    await driver.run(`select pg_notify($1, '')`, [channel])
    const pooled = await isPooled(client)
    return { notified: await notified, pooled }
  } finally {
    await client.end()
  }
}

/** A pooler reports a process id of its own at the start; queries then report another one. */
async function isPooled(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  const greeted = (client as unknown as { readonly processID?: number | null }).processID
  return typeof greeted === 'number' && rows[0]?.pid !== greeted
}
