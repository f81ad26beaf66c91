import pg from 'pg'

/** Makes the host's tables in an empty database. */
export async function migrateHost(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query(
    `create table invoice (id text primary key, amount text not null, status text not null default 'open', transfer_id text)`,
  )
  await client.end()
}
