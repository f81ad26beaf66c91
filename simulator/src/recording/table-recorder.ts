import type { Query } from './statements.ts'

/** A row that was inserted and committed, with the table and the time of its commit. */
export interface Row {
  readonly table: string
  /** Of the commit, in milliseconds since the epoch. */
  readonly at: number
  readonly columns: Readonly<Record<string, string | null>>
}

/** Records the tables of a host by logical decoding, so that rows come in the order of their commits. */
export interface TableRecorder {
  /** Hands over everything that was committed since. A failure of the database changes nothing; ask again. */
  drain(): Promise<void>
  stop(): Promise<void>
}

/** Most changes that are read at once; a read ends with a commit. */
const mostChanges = 20_000

/** Starts to record. The server needs `wal_level = logical`; a slot outlives its crashes. */
export async function recordTables(
  query: Query,
  {
    name,
    tables,
    onRow,
  }: { readonly name: string; readonly tables: readonly string[]; readonly onRow: (row: Row) => void },
): Promise<TableRecorder> {
  // This distinguishes what a transaction undoes itself from what it leaves.
  for (const table of tables) await query(`alter table ${table} replica identity full`)
  await query(`create publication ${name} for table ${tables.join(', ')} with (publish = 'insert, delete')`)
  await query(`select pg_create_logical_replication_slot($1, 'pgoutput')`, [name])
  const read = createReader()
  let done = 0n
  const drain = async () => {
    for (;;) {
      const changes = await query(
        `select data from pg_logical_slot_peek_binary_changes($1, null, ${mostChanges}, 'proto_version', '1', 'publication_names', $2)`,
        [name, name],
      )
      const before = done
      for (const { data } of changes) {
        const transaction = read(data as Buffer)
        // After a crash the slot may begin a little earlier than it had got.
        if (transaction === undefined || transaction.end <= done) continue
        done = transaction.end
        for (const row of transaction.rows) onRow(row)
      }
      if (done === before) return
      // The advance comes after the rows are kept, so that a connection that breaks in between loses none.
      await query('select pg_replication_slot_advance($1, $2::pg_lsn)', [name, toLsn(done)])
    }
  }
  let last = Promise.resolve()
  return {
    drain: () => {
      last = last.catch(() => undefined).then(drain)
      return last
    },
    async stop() {
      await query('select pg_drop_replication_slot($1)', [name])
      await query(`drop publication ${name}`)
    },
  }
}

const toLsn = (position: bigint): string => `${(position >> 32n).toString(16)}/${(position & 0xffffffffn).toString(16)}`

/** Milliseconds from 1970 to 2000, where Postgres' clock begins. */
const postgresEpochMs = 946_684_800_000

/** Reads messages of `pgoutput`, version 1; answers with a transaction when it is over. See "Logical Replication Message Formats". */
function createReader(): (data: Buffer) => { readonly end: bigint; readonly rows: readonly Row[] } | undefined {
  const relations = new Map<number, { readonly name: string; readonly columns: readonly string[] }>()
  let rows: Row[] = []
  let at = 0
  return (data) => {
    let place = 1
    const int = (bytes: 1 | 2 | 4) => {
      place += bytes
      return data.readUIntBE(place - bytes, bytes)
    }
    const text = () => {
      const end = data.indexOf(0, place)
      const found = data.toString('utf8', place, end)
      place = end + 1
      return found
    }
    const column = () => {
      if (String.fromCharCode(int(1)) !== 't') return null
      const length = int(4)
      place += length
      return data.toString('utf8', place - length, place)
    }
    switch (String.fromCharCode(data[0] ?? 0)) {
      case 'B':
        rows = []
        at = Number(data.readBigInt64BE(9) / 1_000n) + postgresEpochMs
        return undefined
      case 'R': {
        const [id, , name] = [int(4), text(), text()]
        int(1)
        const columns = Array.from({ length: int(2) }, () => {
          int(1)
          const found = text()
          place += 8
          return found
        })
        relations.set(id, { name, columns })
        return undefined
      }
      case 'I':
      case 'D': {
        const isInsert = data[0] === 'I'.charCodeAt(0)
        const relation = relations.get(int(4))
        int(1)
        const values = Array.from({ length: int(2) }, column)
        const columns = Object.fromEntries(
          (relation?.columns ?? []).map((name, index) => [name, values[index] ?? null]),
        )
        const row = { table: relation?.name ?? '', at, columns }
        if (isInsert) rows.push(row)
        else removeUncommitted(rows, row)
        return undefined
      }
      case 'C':
        return { end: data.readBigInt64BE(10), rows }
      default:
        return undefined
    }
  }
}

/** A row that its own transaction deletes was never committed; one of an earlier transaction stays in the history. */
function removeUncommitted(rows: Row[], row: Row): void {
  const text = JSON.stringify(row)
  const found = rows.findLastIndex((one) => JSON.stringify(one) === text)
  if (found >= 0) rows.splice(found, 1)
}
