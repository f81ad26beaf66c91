import { type Command, InvalidArgumentError } from 'commander'
import { parseDuration } from '../output/duration.ts'
import type { CliContext } from '../session/cli-context.ts'
import { Misuse } from '../session/problem.ts'
import type { GlobalOptions } from '../session/session.ts'
import type { FollowCommandOptions } from '../shards/account-move.ts'
import { loadCommands } from './perform.ts'
import { withNote } from './safety.ts'

/** Adds the command that moves an account between the databases of a file of shards. */
export function addAccountMove(accounts: Command, around: CliContext, onCode: (code: number) => void): void {
  withNote(accounts.command('move'))
    .description(
      'with --shards: move an account to another node, or go on with a move that was interrupted; --to the node that it was leaving takes it back',
    )
    .argument('[account]', 'id; none with --all')
    .option('--to <node>', 'the node that it moves to')
    .option('--follow', 'to the node where Citus has its rows of the tables that are "colocated" in the file')
    .option('--all', 'with --follow: each account of the directory whose rows are elsewhere, one after the other')
    .option('--dry-run', 'with --follow: only print which those are')
    .option('--wait <duration>', 'for transactions from before, until the move is taken back (default: 10s)', parseMs)
    .option('--attempts <duration>', 'for attempts under way, which then move as they are (default: 10s)', parseMs)
    .option('--pause <duration>', 'longest pause before the route is switched (default: 5m)', parseMs)
    .action(async (id: string | undefined, options: MoveOptions, command: Command) => {
      const { moveAccount, followAccount, followAll } = await loadCommands()
      const global = command.optsWithGlobals<GlobalOptions>()
      const { to, follow, all, dryRun, ...rest } = options
      if ((to === undefined) === (follow === undefined))
        throw new Misuse('Where does it move?', 'Give either --to <node> or --follow.')
      if (follow === undefined && (all !== undefined || dryRun !== undefined))
        throw new Misuse('--all and --dry-run are about accounts that follow their rows.', 'Give --follow with them.')
      if ((id === undefined) === (all === undefined))
        throw new Misuse('Which account moves?', 'Give the id of one, or --follow --all.')
      if (to !== undefined && id !== undefined) await moveAccount(global, around, id, { ...rest, to })
      else if (id === undefined || dryRun) onCode(await followAll(global, around, { ...rest, dryRun, only: id }))
      else await followAccount(global, around, id, rest)
    })
}

interface MoveOptions extends FollowCommandOptions {
  readonly to?: string
  readonly follow?: true
  readonly all?: true
  readonly dryRun?: true
}

function parseMs(text: string): number {
  const ms = parseDuration(text)
  if (ms === undefined || ms < 1) throw new InvalidArgumentError('Write it as 30s or 5m.')
  return ms
}
