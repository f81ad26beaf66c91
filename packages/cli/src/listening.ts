import { randomBytes } from 'node:crypto'
import pg from 'pg'
import type { ConnectionFacts } from './diagnosis.ts'
import type { Session } from './session.ts'

/** How long a notification may take, in milliseconds. */
const waitMs = 2_000

/** Finds out whether a connection like the session's hears notifications, and whether it goes through a pooler. */
export async function testListening({ pool }: Pick<Session, 'pool'>): Promise<ConnectionFacts> {
  const channel = `outlay_doctor_${randomBytes(6).toString('hex')}`
  const client = new pg.Client(pool.options)
  client.on('error', () => undefined)
  try {
    await client.connect()
    const heard = new Promise<boolean>((resolve) => {
      const timer = setTimeout(() => resolve(false), waitMs)
      client.on('notification', (notification) => {
        if (notification.channel !== channel) return
        clearTimeout(timer)
        resolve(true)
      })
    })
    await client.query(`listen "${channel}"`)
    // Over another connection: behind a pooler the next statement of this one may reach the server that listens.
    await pool.query(`select pg_notify($1, '')`, [channel])
    const pooled = await isPooled(client)
    return { hears: await heard, pooled }
  } finally {
    await client.end()
  }
}

/** A pooler gives a process id of its own making at the start, and another one answers. */
async function isPooled(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
  const greeted = (client as unknown as { readonly processID?: number | null }).processID
  return typeof greeted === 'number' && rows[0]?.pid !== greeted
}
