import pg from 'pg'

/** The schema of a sandbox's service. */
export const serviceSchema = 'outlay_service'

interface Column {
  readonly table_name: string
  readonly column_name: string
  readonly data_type: string
  readonly is_nullable: string
}

/** The columns of the service's tables. */
export async function describeTables(client: pg.Client): Promise<readonly Column[]> {
  const { rows } = await client.query<Column>(
    `select c.table_name, c.column_name, c.data_type, c.is_nullable
     from information_schema.columns c
     join information_schema.tables t using (table_schema, table_name)
     where c.table_schema = $1 and t.table_type = 'BASE TABLE' and c.is_generated = 'NEVER'
     order by 1, 2`,
    [serviceSchema],
  )
  return rows
}

/**
 * Copies the rows of a newer database into an older schema, as far as it has the tables and columns; triggers and foreign
 * keys are off. Returns the tables that got rows.
 */
export async function copyRows(fromUrl: string, to: pg.Client): Promise<readonly string[]> {
  const from = new pg.Client(fromUrl)
  await from.connect()
  try {
    const columns = Map.groupBy(await describeTables(to), ({ table_name }) => table_name)
    await to.query('set session_replication_role = replica')
    const copied: string[] = []
    for (const [table, own] of columns) {
      if (table === 'migration') continue
      const { rows } = await from.query<{ all: string | null }>(
        `select jsonb_agg(to_jsonb(t))::text as all from ${serviceSchema}.${table} t`,
      )
      const all = rows[0]?.all
      if (all === undefined || all === null) continue
      const names = own.map(({ column_name }) => pg.escapeIdentifier(column_name)).join(', ')
      const place = `${serviceSchema}.${table}`
      // A migration may have put rows there already.
      await to.query(`delete from ${place}`)
      await to.query(
        `insert into ${place} (${names}) overriding system value
         select ${names} from jsonb_populate_recordset(null::${place}, $1::jsonb)`,
        [all],
      )
      copied.push(table)
    }
    await copySequences(from, to)
    return copied
  } finally {
    await from.end()
  }
}

async function copySequences(from: pg.Client, to: pg.Client): Promise<void> {
  const list = 'select sequencename as name, last_value as last from pg_sequences where schemaname = $1'
  const known = new Set((await to.query(list, [serviceSchema])).rows.map(({ name }) => name))
  for (const { name, last } of (await from.query(list, [serviceSchema])).rows) {
    if (known.has(name) && last !== null) await to.query(`select setval('${serviceSchema}.${name}', $1)`, [last])
  }
}
