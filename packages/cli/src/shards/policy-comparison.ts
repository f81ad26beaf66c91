import { groupPolicies } from '@outlay/adapters-pg'
import type { Policy } from '@outlay/core'
import pg from 'pg'
import { type Finding, serious } from '../doctor/finding.ts'

/** Commands after which the policies of the nodes are compared. */
const comparing = new Set(['doctor', 'policies show', 'policies set'])

/** True where a command over all nodes says whether their policies differ. */
export const comparesPolicies = (path: string): boolean => comparing.has(path)

/** Reads the policies of a node; undefined where it does not answer, which the command itself has said. */
async function readPolicies(url: string | undefined, schema: string, answerMs: number) {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'outlay-cli',
    connectionTimeoutMillis: answerMs,
    query_timeout: answerMs,
  })
  client.on('error', () => undefined)
  try {
    await client.connect()
    // A schema of an earlier release has none.
    const { rows: there } = await client.query('select to_regclass($1) is not null as found', [
      `${schema}.policy_state`,
    ])
    if (there[0]?.found !== true) return []
    const { rows } = await client.query(
      `select v.policies from ${schema}.policy_state s join ${schema}.policy_version v on v.version = s.version`,
    )
    return (rows[0]?.policies ?? []) as readonly Policy[]
  } catch {
    return undefined
  } finally {
    void client.end().catch(() => undefined)
  }
}

/** Finds nodes whose policies differ: what one holds, another one sends. */
export async function diagnosePolicies(
  nodes: ReadonlyMap<string, string>,
  schema: string,
  answerMs: number,
): Promise<readonly Finding[]> {
  const read = await Promise.all(
    [...nodes].map(async ([node, url]) => ({ node, policies: await readPolicies(url, schema, answerMs) })),
  )
  const groups = groupPolicies(
    read.flatMap(({ node, policies }) => (policies === undefined ? [] : [{ node, policies }])),
  )
  if (groups.length < 2) return []
  const described = groups.map(({ nodes: same, policies }) => {
    const names = policies.map(({ name }) => name).join(', ')
    return `${same.join(', ')}: ${names === '' ? 'none' : names}`
  })
  const what = `The policies of the nodes differ, so what one holds or refuses, another one may send: ${described.join('; ')}.`
  const cure =
    '"outlay policies show --shards" has each in full. Set the same file on all: "outlay policies set policies.json --shards".'
  return [serious('policies_differ', what, cure)]
}
