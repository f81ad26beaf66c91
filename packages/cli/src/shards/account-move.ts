import { type AccountMoved, type AccountMoveProgress, directory, pgDriver, shards } from '@outlay/adapters-pg'
import type { OperatorNote } from '@outlay/core'
import pg from 'pg'
import { plural, printable } from '../output/table.ts'
import type { CliContext } from '../session/cli-context.ts'
import { Misuse } from '../session/problem.ts'
import { type GlobalOptions, namesOf, noGateway } from '../session/session.ts'
import { readShardFile } from './shard-file.ts'

/** Where an account moves, and how long it may take, in milliseconds. */
export interface MoveCommandOptions extends OperatorNote {
  readonly to: string
  readonly wait?: number
  readonly attempts?: number
  readonly pause?: number
}

/** Moves an account between the databases of a file of shards, and prints how long it was paused. */
export async function moveAccount(
  options: GlobalOptions,
  around: CliContext,
  accountId: string,
  { to, actor, reason, wait, attempts, pause }: MoveCommandOptions,
): Promise<void> {
  const { databaseUrl, node } = options
  if (options.shards === undefined || databaseUrl !== undefined || node !== undefined)
    throw new Misuse('An account moves between the nodes of a file.', 'Give --shards with it, and --to with the node.')
  const file = await readShardFile(options.shards, around)
  if (file.directory === undefined)
    throw new Misuse(
      'The file of shards has no "directory", which says where accounts are.',
      'Add "directory": "$DIRECTORY_URL" to it; where a function of yours is the route, move the account by hand.',
    )
  const there = [...file.nodes.keys()]
  if (!there.includes(to)) throw new Misuse(`There is no node "${to}".`, `Give --to with one of ${there.join(', ')}.`)
  const pools: pg.Pool[] = []
  const open = (connectionString: string): pg.Pool => {
    const pool = new pg.Pool({
      ...{ connectionString, max: 4, application_name: 'outlay-cli', connectionTimeoutMillis: 10_000 },
    })
    pool.on('error', () => undefined)
    pools.push(pool)
    return pool
  }
  const route = directory({ pool: open(file.directory.url), schema: file.directory.schema })
  const nodes = Object.fromEntries([...file.nodes].map(([name, url]) => [name, { driver: pgDriver(open(url)) }]))
  try {
    const all = shards({ nodes, route, engine: { gateway: noGateway }, ...namesOf(options) })
    const moved = await all.accounts.move(accountId, {
      ...{ to, actor, reason, waitMs: wait, attemptsMs: attempts, pauseMs: pause, signal: around.signal },
      onProgress: showProgress(around),
    })
    around.stdout(options.json === true ? `${JSON.stringify(moved, null, 2)}\n` : `${formatMoved(moved)}\n`)
  } finally {
    await route.close()
    await Promise.all(pools.map((pool) => pool.end()))
  }
}

/** Prints each step once, and a long one every ten thousand rows, when a person watches. */
function showProgress(around: CliContext): ((progress: AccountMoveProgress) => void) | undefined {
  if (!around.interactive) return undefined
  let shown = ''
  return ({ step, done }) => {
    const now = `${step} ${Math.floor(done / 10_000)}`
    if (now === shown) return
    shown = now
    around.stderr(`${step}${done === 0 ? '' : `: ${done}`}\n`)
  }
}

function formatMoved({ accountId, from, to, result, transfers, pauseMs, totalMs }: AccountMoved): string {
  const account = printable(accountId)
  const pause = `It was paused for ${seconds(pauseMs)}, and the move took ${seconds(totalMs)}.`
  switch (result) {
    case 'there':
      return `${account} is on "${to}" already; nothing changed.`
    case 'returned':
      return `${account} is on "${from}" as before. ${pause}`
    default:
      return `${account} moved from "${from}" to "${to}" with ${plural(transfers, 'transfer')}. ${pause} Your own rows of it are yours to move.`
  }
}

const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`
