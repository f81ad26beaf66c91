import { OutlayError } from '@outlay/core'
import { Column, rowDecoder } from '@outlay/core/adapter'
import type { Driver } from '../database/driver.ts'
import { readFirst } from '../database/read-rows.ts'

const sql = `select current_user::text as role, has_table_privilege(c.oid, 'update') and has_table_privilege(c.oid, 'select') as may_work,
    (select string_agg(distinct format('"%s"', r.rolname), ' or ')
      from aclexplode(c.relacl) a join pg_roles r on r.oid = a.grantee
      where a.privilege_type = 'UPDATE' and a.grantee <> c.relowner) as workers
  from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = $1 and c.relname = 'transfer'`

const readRole = rowDecoder('role', {
  role: Column.text,
  mayWork: Column.boolean,
  workers: Column.nullable(Column.text),
})

/**
 * Throws Error when the role of the connection may not run workers, with the name of one that may: a role that only enqueues, or reads,
 * would fail at some later statement with a table's name. Says nothing of a schema that does not exist.
 */
export async function checkWorkerRole<Tx>(
  driver: Pick<Driver<Tx>, 'run'>,
  schema: string,
  cause?: unknown,
): Promise<void> {
  const found = readFirst(readRole, (await driver.run(sql, [schema])).rows)
  if (found === undefined || found.mayWork) return
  const use =
    found.workers === null
      ? `the owner of the schema "${schema}", or run "outlay roles" and use its worker role, outlay_worker by default`
      : `the role ${found.workers}`
  throw new Error(
    `The database role "${found.role}" may not run workers: it may not change the transfers in the schema "${schema}". Start the engine with a login of ${use}; a process that only enqueues does not call start().`,
    cause === undefined ? undefined : { cause },
  )
}

/** Runs a check whose statements such a role may not run, and says the same in place of the table's name. */
export async function explainRole<Tx>(
  driver: Pick<Driver<Tx>, 'run'>,
  schema: string,
  run: () => Promise<void>,
): Promise<void> {
  try {
    await run()
  } catch (error) {
    if (isForbidden(error)) await checkWorkerRole(driver, schema, error)
    throw error
  }
}

/** Runs a migration, and says who may run one in place of the name of a table or a schema. */
export async function explainMigration<Tx>(
  driver: Pick<Driver<Tx>, 'run'>,
  schema: string,
  run: () => Promise<void>,
): Promise<void> {
  try {
    await run()
  } catch (error) {
    if (!isForbidden(error)) throw error
    const [row] = (await driver.run('select current_user::text as role')).rows
    const message = `The database role "${row?.['role']}" may not migrate the schema "${schema}". Migrate with a login of its owner, or at first of one that may create schemas in this database: engine.migrate(), or "outlay migrate" with that login in DATABASE_URL.`
    throw new OutlayError('insufficient_privilege', message, { cause: error })
  }
}

/** Some drivers wrap the error of the server. */
const isForbidden = (error: unknown): boolean => {
  if (typeof error !== 'object' || error === null) return false
  if ('code' in error && error.code === '42501') return true
  return 'cause' in error && isForbidden(error.cause)
}
