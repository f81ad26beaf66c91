import {
  type AccountMoved,
  type AccountMoveOptions,
  type AccountMoveProgress,
  directory,
  pgDriver,
  type Shards,
  shards,
} from '@outlay/adapters-pg'
import type { OperatorNote } from '@outlay/core'
import pg from 'pg'
import { plural, printable } from '../output/table.ts'
import type { CliContext } from '../session/cli-context.ts'
import { Misuse } from '../session/problem.ts'
import { type GlobalOptions, namesOf, noGateway } from '../session/session.ts'
import { readShardFile, type ShardFile } from './shard-file.ts'

/** How long a move may take, in milliseconds, and who moves it. */
export interface FollowCommandOptions extends OperatorNote {
  readonly wait?: number
  readonly attempts?: number
  readonly pause?: number
}

/** The same, and where an account moves. */
export interface MoveCommandOptions extends FollowCommandOptions {
  readonly to: string
}

/** Moves an account between the databases of a file of shards, and prints how long it was paused. */
export async function moveAccount(
  options: GlobalOptions,
  around: CliContext,
  accountId: string,
  { to, ...rest }: MoveCommandOptions,
): Promise<void> {
  await withShards(options, around, async (all, file) => {
    const there = [...file.nodes.keys()]
    if (!there.includes(to)) throw new Misuse(`There is no node "${to}".`, `Give --to with one of ${there.join(', ')}.`)
    writeMoved(await all.accounts.move(accountId, { ...moveOptions(rest, around), to }), options, around)
  })
}

/** Moves an account to the node where Citus has its rows, and prints the same. */
export async function followAccount(
  options: GlobalOptions,
  around: CliContext,
  accountId: string,
  rest: FollowCommandOptions,
): Promise<void> {
  await withShards(options, around, async (all) => {
    writeMoved(await all.accounts.follow(accountId, moveOptions(rest, around)), options, around)
  })
}

/** The options of a move as they were typed, with its progress. */
export const moveOptions = (
  { actor, reason, wait, attempts, pause }: FollowCommandOptions,
  around: CliContext,
): Omit<AccountMoveOptions, 'to'> => ({
  ...{ actor, reason, waitMs: wait, attemptsMs: attempts, pauseMs: pause, signal: around.signal },
  onProgress: showProgress(around),
})

/** Opens the databases of a file of shards and its directory, runs `work`, and closes them. */
export async function withShards<T>(
  options: GlobalOptions,
  around: CliContext,
  work: (all: Shards<pg.PoolClient>, file: ShardFile) => Promise<T>,
): Promise<T> {
  const { databaseUrl, node } = options
  if (options.shards === undefined || databaseUrl !== undefined || node !== undefined)
    throw new Misuse(
      'An account moves between the nodes of a file.',
      'Give --shards with it, and --to with the node, or --follow.',
    )
  const file = await readShardFile(options.shards, around)
  if (file.directory === undefined)
    throw new Misuse(
      'The file of shards has no "directory", which says where accounts are.',
      'Add "directory": "$DIRECTORY_URL" to it; where a function of yours is the route, move the account by hand.',
    )
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
  const nodes = Object.fromEntries(
    [...file.nodes].map(([name, url]) => [name, { driver: pgDriver(open(url)), citus: file.citus.get(name) }]),
  )
  const { colocated } = file
  try {
    return await work(shards({ nodes, route, colocated, engine: { gateway: noGateway }, ...namesOf(options) }), file)
  } finally {
    await route.close()
    await Promise.all(pools.map((pool) => pool.end()))
  }
}

function writeMoved(moved: AccountMoved, options: GlobalOptions, around: CliContext): void {
  around.stdout(options.json === true ? `${JSON.stringify(moved, null, 2)}\n` : `${formatMoved(moved)}\n`)
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

/** One line about a move. */
export function formatMoved({ accountId, from, to, result, transfers, pauseMs, totalMs }: AccountMoved): string {
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
