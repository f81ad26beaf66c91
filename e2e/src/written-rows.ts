import pg from 'pg'

/** Every row that is written to a database, later deleted ones included. */
export interface WrittenRows {
  /** Columns, as `schema.table.column`, that ever had the text in them: plain, in base64 or in hex. Sorted. */
  placesOf(text: string): Promise<readonly string[]>
  /** Columns that have it now. */
  placesNow(text: string): Promise<readonly string[]>
  /** Tables, as `schema.table`, in which a row was written. */
  tables(): Promise<ReadonlySet<string>>
  close(): Promise<void>
}

/** Starts to record the rows that are written to a database from now on, through triggers on all of its tables. */
export async function recordWrites(databaseUrl: string): Promise<WrittenRows> {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 2 })
  await pool.query(`
    create schema written;
    create table written.row (place text not null, content jsonb not null);
    create function written.record() returns trigger language plpgsql as $$
    begin
      insert into written.row values (format('%s.%s', tg_argv[0], tg_argv[1]), to_jsonb(new));
      return null;
    end
    $$;`)
  const tables = await readTables(pool)
  for (const [schema, table] of tables) {
    await pool.query(
      `create trigger written after insert or update on "${schema}"."${table}"
         for each row execute function written.record('${schema}', '${table}')`,
    )
  }
  return {
    async placesOf(text) {
      const { rows } = await pool.query<{ place: string }>(
        `select distinct place || '.' || key as place
           from written.row, jsonb_each_text(content)
          where exists (select from unnest($1::text[]) as t(text) where position(t.text in value) > 0)
          order by 1`,
        [spellingsOf(text)],
      )
      return rows.map(({ place }) => place)
    },
    async placesNow(text) {
      const found: string[] = []
      for (const [schema, table] of await readTables(pool)) {
        const { rows } = await pool.query<{ key: string }>(
          `select distinct e.key from "${schema}"."${table}" t, jsonb_each_text(to_jsonb(t)) as e(key, value)
            where exists (select from unnest($1::text[]) as s(text) where position(s.text in e.value) > 0)`,
          [spellingsOf(text)],
        )
        found.push(...rows.map(({ key }) => `${schema}.${table}.${key}`))
      }
      return found.sort()
    },
    async tables() {
      const { rows } = await pool.query<{ place: string }>('select distinct place from written.row')
      return new Set(rows.map(({ place }) => place))
    },
    close: () => pool.end(),
  }
}

/** The forms of a text in a row. */
function spellingsOf(text: string): readonly string[] {
  const octets = Buffer.from(text)
  return [text, octets.toString('base64').replace(/=+$/, ''), octets.toString('hex')]
}

/** Tables of the database, partitions left out: what is done to their parent is done to them. */
async function readTables(pool: pg.Pool): Promise<readonly (readonly [string, string])[]> {
  const { rows } = await pool.query<{ schema: string; name: string }>(
    `select n.nspname as schema, c.relname as name
       from pg_class c
       join pg_namespace n on n.oid = c.relnamespace
      where c.relkind in ('r', 'p') and not c.relispartition
        and n.nspname not in ('pg_catalog', 'information_schema', 'written')
      order by 1, 2`,
  )
  return rows.map(({ schema, name }) => [schema, name])
}
