import pg from 'pg'

/** A settlement that waits in the database, half written. */
export interface SettlementHold {
  isReached(): Promise<boolean>
  /** Lets the database finish it, or rolls it back. */
  letGo(rollsBack: boolean): Promise<void>
}

/**
 * Makes the next settlement wait inside its transaction, after it has written the transfer and before the event. A trigger waits
 * there for an advisory lock that this connection holds. Enqueues do not wait.
 */
export async function holdSettlement(databaseUrl: string, schema: string): Promise<SettlementHold> {
  const session = new pg.Client({ connectionString: databaseUrl, application_name: 'outlay-testing' })
  session.on('error', () => {})
  await session.connect()
  const place = pg.escapeIdentifier(schema)
  const { rows } = await session.query<{ key: number }>('select pg_backend_pid() as key')
  const key = Number(rows[0]?.key)
  await session.query('select pg_advisory_lock($1, 0)', [key])
  await session.query(`
    create or replace function ${place}.crash_point_settling() returns trigger language plpgsql as $$
    begin
      perform pg_advisory_xact_lock_shared(${key}, 0);
      return new;
    end
    $$;
    create trigger crash_point_settling before insert on ${place}.event
    for each row when (new.type <> 'transfer.enqueued') execute function ${place}.crash_point_settling()`)
  const waiting = async () => {
    const found = await session.query<{ pid: number }>(waiters, [key])
    return found.rows.map(({ pid }) => pid)
  }
  return {
    isReached: async () => (await waiting()).length > 0,
    async letGo(rollsBack) {
      if (rollsBack) for (const pid of await waiting()) await session.query('select pg_terminate_backend($1)', [pid])
      await session.query('select pg_advisory_unlock($1, 0)', [key])
      await session.query(`drop function ${place}.crash_point_settling() cascade`)
      await session.end()
    },
  }
}

const waiters = `
  select pid from pg_locks
  where locktype = 'advisory' and not granted and objsubid = 2 and classid = $1::bigint::oid
    and database = (select oid from pg_database where datname = current_database())`
