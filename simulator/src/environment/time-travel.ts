import type { Pool } from 'pg'

/**
 * Lets time pass for an engine by moving everything it has written into the past, since Postgres' own clock cannot be set.
 * Returns the function that does it, for the schemas as they are now. When workers last saw their database does not change: a time
 * that is earlier than one which they know of is what a restored database has. Nor does what nobody may change.
 */
export async function prepareTimeTravel(
  pool: Pool,
  schemas: readonly string[],
): Promise<(seconds: number) => Promise<void>> {
  const { rows } = await pool.query<{ readonly name: string; readonly columns: readonly string[] }>(
    `select format('%I.%I', c.table_schema, c.table_name) as name, array_agg(quote_ident(c.column_name)::text) as columns
     from information_schema.columns c
     join pg_class t on t.relname = c.table_name and t.relnamespace = c.table_schema::regnamespace and t.relkind = 'r'
     where c.table_schema = any ($1) and c.table_name not in ('migration', 'known_database', 'audit', 'policy_version', 'limit_version', 'screening_answer') and c.data_type = 'timestamp with time zone' and c.is_generated = 'NEVER'
     group by 1 order by 1`,
    [schemas],
  )
  const updates = rows.map(({ name, columns }) => {
    // A row whose key is a time would come to be where another one still is: all of them leave first.
    if (name === 'outlay.limit_use') return movedUses
    const moved = columns.map((column) => `${column} = ${column} - make_interval(secs => $1::float8)`)
    // What a host's open transaction has locked stays where it is, or time would wait for that host.
    return `update ${name} set ${moved.join(', ')}
      where ctid = any (array(select ctid from ${name} for no key update skip locked))`
  })
  return async (seconds) => {
    for (const update of updates) await retried(() => pool.query(update, [seconds]))
  }
}

const movedUses = `with gone as (
    delete from outlay.limit_use where ctid = any (array(select ctid from outlay.limit_use for update skip locked)) returning *
  )
  insert into outlay.limit_use (counter, scope, began_at, until, used, address_id)
  select g.counter, g.scope, g.began_at - make_interval(secs => $1::float8), g.until - make_interval(secs => $1::float8), g.used, g.address_id
  from gone g order by g.began_at`

/** A worker may hold rows in another order, and the server may just be restarting. */
export async function retried<T>(run: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await run()
    } catch (error) {
      if (attempt === 20) throw error
      await new Promise((resolve) => setTimeout(resolve, 25 * attempt))
    }
  }
}
