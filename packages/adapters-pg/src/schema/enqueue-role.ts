import { setTimeout } from 'node:timers/promises'
import { OutlayError } from '@outlay/core'
import { Column, rowDecoder } from '@outlay/core/adapter'
import type { Driver } from '../database/driver.ts'
import { hasSqlState } from '../database/lock-timeout.ts'
import { readFirst } from '../database/read-rows.ts'
import type { Row } from '../database/statement.ts'

// In catalogs, which every role reads. A role that may change transfers is one for workers.
const statement = {
  name: 'outlay_enqueue_role',
  text: `with engine as (
      select n.oid as space, o.oid as outbox, o.relacl, t.oid as transfer from pg_namespace n
      join pg_class o on o.relnamespace = n.oid and o.relname = 'outbox' join pg_class t on t.relnamespace = n.oid and t.relname = 'transfer'
      where n.nspname = $1
    ), enqueuing as (
      select r.oid, r.rolname from engine e cross join aclexplode(e.relacl) a join pg_roles r on r.oid = a.grantee
      where a.privilege_type = 'INSERT' and not has_table_privilege(r.oid, e.transfer, 'update') order by r.rolname limit 1
    )
    select current_user::text as role, (select g.rolname::text from enqueuing g) as enqueuing,
      coalesce((select pg_has_role(current_user, g.oid, 'usage') from enqueuing g), false) as is_member,
      has_schema_privilege(e.space, 'usage') and has_table_privilege(e.outbox, 'insert') and (
        select coalesce(bool_and(has_function_privilege(p.oid, 'execute')), false) from pg_proc p
        where p.pronamespace = e.space and starts_with(p.proname, 'enqueue_')) as may_enqueue
    from engine e`,
}

/** How long the failure of an enqueue waits for a second connection, in milliseconds: transactions may hold all of them. */
const patienceMs = 10_000

/** The error to throw in place of what Postgres says to an enqueue of a role without rights, or into a schema that is not there. */
export async function explainEnqueue<Tx>(driver: Driver<Tx>, schema: string, error: unknown): Promise<unknown> {
  if (hasSqlState(error, /^(3F000|42P01|42883)$/)) return notMigrated(schema, error)
  if (hasSqlState(error, /^25P02$/)) return failedBefore(error)
  if (!hasSqlState(error, /^42501$/)) return error
  const found = driver.maxConnections === 1 ? [] : await readRoles(driver, schema)
  return new OutlayError('insufficient_privilege', describe(schema, readFirst(readRole, found)), { cause: error })
}

/** By a transaction: its connection is one of the host's library, as that of the enqueue, which may have another login than the workers. */
async function readRoles<Tx>(driver: Driver<Tx>, schema: string): Promise<readonly Row[]> {
  const over = new AbortController()
  const asked = driver.transaction((tx) => driver.execute(tx, statement, [schema])).catch((): readonly Row[] => [])
  const late = setTimeout(patienceMs, [], { ref: false, signal: over.signal }).catch((): readonly Row[] => [])
  const found = await Promise.race([asked, late])
  over.abort()
  return found
}

function describe(schema: string, found: ReturnType<typeof readRole> | undefined): string {
  const { enqueuing, isMember } = found ?? { enqueuing: null, isMember: false }
  // The transaction may have taken another role than this.
  const isNamed = found !== undefined && !found.mayEnqueue
  const role = isNamed ? `The database role "${found.role}"` : 'The database role of this transaction'
  const whom = isNamed ? `"${found.role}"` : 'that role'
  const cure =
    enqueuing === null
      ? `run "outlay roles" as an administrator, and then: grant outlay_enqueue to ${whom}`
      : isMember
        ? `run "outlay roles" as an administrator again, as after every migration: "${enqueuing}" has not all that this release needs`
        : `as an administrator: grant "${enqueuing}" to ${whom}`
  return `${role} may not enqueue in the schema "${schema}"; ${cure}. The transaction has failed: roll it back.`
}

/** With the code of Postgres, which a host may know. */
const failedBefore = (cause: unknown) =>
  Object.assign(
    new Error(
      'An earlier statement of the transaction has failed, and Postgres carries out nothing more in it. Roll it back, and see the error of that statement.',
      { cause },
    ),
    { code: '25P02' },
  )

const notMigrated = (schema: string, cause: unknown) =>
  new OutlayError(
    'not_migrated',
    `The schema "${schema}" does not exist in this database, or is older than this release. Run engine.migrate() or "outlay migrate" before the first enqueue, and see whether the connection and the option schema are those of the engine. The transaction has failed: roll it back.`,
    { cause },
  )

const readRole = rowDecoder('role', {
  role: Column.text,
  enqueuing: Column.nullable(Column.text),
  isMember: Column.boolean,
  mayEnqueue: Column.boolean,
})
