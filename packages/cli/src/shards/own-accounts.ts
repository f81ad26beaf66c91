import pg from 'pg'
import { printable } from '../output/table.ts'
import { Misuse } from '../session/problem.ts'
import type { ShardFile } from './shard-file.ts'
import type { ShardTarget, TypedCommand } from './shard-target.ts'

/**
 * Refuses a reconciliation of one node with accounts of another one: it would adopt all that they have.
 * @throws Misuse; what the directory answers with
 */
export async function refuseOthersAccounts(
  { path, account }: TypedCommand,
  target: ShardTarget,
  file: ShardFile,
  answerMs: number,
): Promise<void> {
  const accountIds = Array.isArray(account) ? account.map(String) : []
  if (path !== 'reconcile' || target.scope !== 'node' || accountIds.length === 0) return
  const nodeOf = file.route ?? (await readRoutes(file.directory, accountIds, answerMs))
  for (const accountId of accountIds) {
    const node = nodeOf(accountId)
    if (typeof node !== 'string' || node === target.name) continue
    throw new Misuse(
      `The account ${printable(accountId)} is on the node "${printable(node)}", and not on "${target.name}".`,
      'Leave it out here: what it has would be adopted.',
    )
  }
}

/** The routes of accounts as the directory has them; of none where the file names no directory. */
async function readRoutes(
  directory: ShardFile['directory'],
  accountIds: readonly string[],
  answerMs: number,
): Promise<(accountId: string) => unknown> {
  if (directory === undefined) return () => undefined
  const { url, schema = 'outlay_directory' } = directory
  const client = new pg.Client({
    ...{ connectionString: url, application_name: 'outlay-cli', connectionTimeoutMillis: answerMs },
    query_timeout: answerMs,
  })
  client.on('error', () => undefined)
  try {
    await client.connect()
    const text = `select a.account_id, a.node from ${pg.escapeIdentifier(schema)}.account a where a.account_id = any ($1)`
    const { rows } = await client.query(text, [accountIds])
    const routes = new Map(rows.map((row) => [String(row.account_id), String(row.node)]))
    return (accountId) => routes.get(accountId)
  } finally {
    void client.end().catch(() => undefined)
  }
}
