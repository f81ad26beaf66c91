import { inTransaction, registerClient, type Service } from '@outlay/service'
import { Hono } from 'hono'
import type { Pool } from 'pg'

/** Dependencies of the application. */
export interface Host {
  readonly pool: Pool
  /** Made on the same pool, so that its clients commit with the bank's own rows. */
  readonly service: Service
}

/** Builds the bank's application: its own routes, and the whole service below `/payouts`. */
export function createApp({ pool, service }: Host): Hono {
  const app = new Hono()

  // One transaction writes a partner and its credentials.
  app.post('/partners', async (c) => {
    const { name } = await c.req.json<{ name: string }>()
    const credentials = await inTransaction(service.context, async (tx) => {
      const client = await registerClient(tx, service.context, { name, environment: 'mainnet' })
      const { rowCount } = await tx.query(
        'insert into partner (name, client_id) values ($1, $2) on conflict (name) do nothing',
        [name, client.clientId],
      )
      // An error rolls the client back.
      if (rowCount === 0) throw new NameTaken()
      return client
    })
    return c.json(credentials, 201)
  })

  app.get('/partners', async (c) => {
    const { rows } = await pool.query<{ name: string }>('select name from partner order by name')
    return c.json(rows.map(({ name }) => name))
  })

  // The service receives paths without the prefix. It handles everything below the prefix, including 404.
  app.mount('/payouts', service.fetch)

  app.onError((error, c) => {
    if (error instanceof NameTaken) return c.json({ message: error.message }, 409)
    console.error(error)
    return c.json({ message: 'Something went wrong here.' }, 500)
  })
  return app
}

/** Makes the bank's own table. */
export async function migrateDatabase(pool: Pool): Promise<void> {
  await pool.query('create table if not exists partner (name text primary key, client_id text not null unique)')
}

/** A partner with that name exists. */
class NameTaken extends Error {
  override readonly message = 'There is a partner of that name.'
}
