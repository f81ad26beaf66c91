import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import type { Finding } from '../doctor/finding.ts'
import { printable } from '../output/table.ts'
import type { CliContext } from '../session/cli-context.ts'
import { explain, isMisuse, Misuse, type Problem, Refusal } from '../session/problem.ts'
import { type GlobalOptions, namesOf } from '../session/session.ts'
import { refuseOthersAccounts } from './own-accounts.ts'
import { comparesPolicies, diagnosePolicies } from './policy-comparison.ts'
import { readShardFile, type ShardFile } from './shard-file.ts'
import { chooseTarget, type ShardTarget, type TypedCommand } from './shard-target.ts'

/** Runs a command on one database and gives its exit code. */
export type RunOnDatabase = (options: GlobalOptions, around: CliContext) => Promise<number | undefined>

/** What a command did on one node. */
interface NodeRun {
  readonly node: string
  readonly code: number
  readonly output: string
  /** Undefined when it ran to its end. */
  readonly problem?: Problem | undefined
}

/** How long a node may take to connect and say which one it is, in milliseconds. */
const answerMs = 10_000

/**
 * Runs a command on the databases of a file of shards, on all at once, and writes what each gave. A node that does not answer costs the
 * others nothing: the result names it, and the exit code is 1.
 */
export async function runOnShards(
  options: GlobalOptions & { readonly shards: string },
  around: CliContext,
  command: TypedCommand,
  run: RunOnDatabase,
): Promise<number> {
  if (options.databaseUrl !== undefined)
    throw new Misuse('Which databases are meant?', 'Give either --database-url or --shards.')
  const file = await readShardFile(options.shards, around)
  const target = chooseTarget(command, options, file)
  await refuseOthersAccounts(command, target, file, answerMs)
  const names = target.scope === 'node' ? [target.name] : [...file.nodes.keys()]
  const runFound = async ({ node, problem }: Found): Promise<NodeRun> =>
    problem === undefined
      ? runAt(
          node,
          { ...options, colocated: file.colocated, pin: file.citus.get(node)?.pin, databaseUrl: file.nodes.get(node) },
          around,
          run,
        )
      : { node, code: 1, output: '', problem }
  // Whoever stops payments does not wait for a node that is dead.
  const begun = new Map<string, Promise<NodeRun>>()
  const found = await Promise.all(
    names.map(async (name) => {
      const one = await find(name, file, options, target)
      if (mayBegin(one, target)) begun.set(name, runFound(one))
      return one
    }),
  )
  const chosen = target.scope === 'having' ? chooseFound(found, target, command) : found
  const runs = await Promise.all(chosen.map((one) => begun.get(one.node) ?? runFound(one)))
  const isCompared = target.scope === 'all' && comparesPolicies(command.path)
  const findings = isCompared ? await diagnosePolicies(file.nodes, schemaOf(options), answerMs) : undefined
  write(runs, findings, options.json === true, around)
  return Math.max(...runs.map(({ code }) => code), command.path === 'doctor' && findings?.length ? 1 : 0)
}

/** Whether a node has a part of the command whatever the others answer. */
const mayBegin = ({ has }: Found, target: ShardTarget): boolean =>
  target.scope !== 'having' || (target.kind === 'account' && has === true)

interface Found {
  readonly node: string
  /** Whether it has what the command names; undefined when the command names nothing, or when that is not known. */
  readonly has: boolean | undefined
  /** True where it is between this node and another one. */
  readonly isMoving?: boolean | undefined
  readonly problem?: Problem | undefined
}

const queries = {
  transfer: (schema: string) => `select exists (select from ${schema}.transfer t where t.id = any ($1)) as has`,
  account: (schema: string) => `select exists (select from ${schema}.transfer t where t.account_id = any ($1)) as has`,
  batch: (schema: string) => `select exists (select from ${schema}.batch b where b.id = any ($1)) as has`,
} as const

const ofTransfersAndBatches = (schema: string) =>
  `select bool_or(${schema}.is_moving(i.id)) as moves from unnest($1::text[]) as i (id)`

const movingQueries = {
  transfer: ofTransfersAndBatches,
  batch: ofTransfersAndBatches,
  account: (schema: string) =>
    `select exists (select from ${schema}.departed_account d where d.account_id = any ($1) and d.state not in ('here', 'departed', 'expecting')) as moves`,
} as const

/** A node of an earlier release knows of no moves. */
async function findMoving(client: pg.Client, text: string, ids: readonly string[]): Promise<boolean> {
  try {
    const { rows } = await client.query(text, [ids])
    return rows[0]?.moves === true
  } catch (error) {
    if (/^42(883|P01|703)$/.test(String((error as { readonly code?: unknown }).code))) return false
    throw error
  }
}

/** Asks a node which one it is, and whether it has what the command names. */
async function find(node: string, file: ShardFile, options: GlobalOptions, target: ShardTarget): Promise<Found> {
  const client = new pg.Client({
    connectionString: file.nodes.get(node),
    application_name: 'outlay-cli',
    connectionTimeoutMillis: answerMs,
    query_timeout: answerMs,
  })
  client.on('error', () => undefined)
  const schema = schemaOf(options)
  try {
    await client.connect()
    await checkName(client, schema, node)
    if (target.scope !== 'having') return { node, has: undefined }
    const { rows } = await client.query(queries[target.kind](schema), [target.ids])
    const has = rows[0]?.has === true
    return { node, has, isMoving: !has && (await findMoving(client, movingQueries[target.kind](schema), target.ids)) }
  } catch (error) {
    return { node, has: undefined, problem: explain(error) }
  } finally {
    // A server that does not answer does not end a connection, either.
    void Promise.race([client.end(), delay(answerMs, undefined, { ref: false })]).catch(() => undefined)
  }
}

const schemaOf = (options: GlobalOptions): string => `"${namesOf(options).schema ?? 'outlay'}"`

/** A mistaken connection string would let a command act on the accounts of another node. */
async function checkName(client: pg.Client, schema: string, node: string): Promise<void> {
  const { rows: there } = await client.query('select to_regclass($1) is not null as found', [`${schema}.shard_node`])
  if (there[0]?.found !== true) return
  const { rows } = await client.query(`select n.name from ${schema}.shard_node n`)
  const name: unknown = rows[0]?.name
  if (name === undefined || name === node) return
  const message = `The database under "${node}" is the node "${printable(String(name))}".`
  throw new Refusal(message, 'Check which connection string belongs to which name.', 'wrong_node')
}

/** The nodes that have what the command names. Refuses where there is none, or where one transaction would need several. */
function chooseFound(
  found: readonly Found[],
  { kind, ids }: Extract<ShardTarget, { scope: 'having' }>,
  { path }: TypedCommand,
): readonly Found[] {
  const having = found.filter(({ has }) => has === true)
  const silent = found.filter(({ problem }) => problem !== undefined)
  const what = `${kind} ${printable(ids.join(', '))}`
  // An account may have something on a node that does not answer, too; one transfer or batch is on one node.
  if (kind === 'account' && having.length > 0) return [...having, ...silent]
  if (having.length === 1) return having
  if (having.length > 1) {
    const message = `The ${what} are on the nodes ${having.map(({ node }) => node).join(' and ')}.`
    throw new Misuse(message, 'Run it for those of each node: a command is one transaction.')
  }
  // Whoever stops payments of an account that has none yet, stops them wherever they would begin.
  if (path === 'stop') return found
  if (found.some(({ isMoving }) => isMoving === true)) {
    const message = `The ${what} moves to another node at this moment.`
    throw new Refusal(
      message,
      'Try again in a few seconds. "outlay doctor" names a move that has stopped.',
      'account_moving',
    )
  }
  const silence = silent.map(({ node, problem }) => `${node} (${problem?.message})`).join(', ')
  if (silence === '')
    throw new Misuse(`No node has the ${what}.`, 'Check it, or give --node with the one that is to have it.')
  const message = `No node that answers has the ${what}; these do not: ${silence}.`
  throw new Refusal(message, 'Try again when they do, or give --node.')
}

async function runAt(node: string, options: GlobalOptions, around: CliContext, run: RunOnDatabase): Promise<NodeRun> {
  const output: string[] = []
  const own: CliContext = {
    ...around,
    stdout: (text) => void output.push(text),
    stderr: (text) => around.stderr(`${node}: ${text}`),
  }
  try {
    const code = (await run(options, own)) ?? 0
    return { node, code, output: output.join('') }
  } catch (error) {
    return { node, code: isMisuse(error) ? 2 : 1, output: output.join(''), problem: explain(error) }
  }
}

/** With one node the output is that of the command itself; with more each has a heading, and JSON is by node. What is about all comes behind them. */
function write(
  runs: readonly NodeRun[],
  findings: readonly Finding[] | undefined,
  asJson: boolean,
  around: CliContext,
): void {
  if (asJson) {
    const nodes = runs.flatMap(({ node, output }) => (output === '' ? [] : [[node, JSON.parse(output)] as const]))
    const missing = runs.flatMap(({ node, problem }) => (problem === undefined ? [] : [{ node, ...problem }]))
    around.stdout(`${JSON.stringify({ nodes: Object.fromEntries(nodes), missing, findings }, null, 2)}\n`)
    return
  }
  for (const { node, output, problem } of runs) {
    around.stdout(`── ${node} ──\n${output}${output === '' ? '' : '\n'}`)
    if (problem !== undefined) around.stderr(`${node}: ${problem.message}\n→ ${problem.next}\n`)
  }
  for (const { what, cure } of findings ?? [])
    around.stdout(`── all nodes ──\n${printable(what)}\n→ ${printable(cure)}\n`)
}
