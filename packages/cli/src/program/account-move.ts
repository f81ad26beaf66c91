import { type Command, InvalidArgumentError } from 'commander'
import { parseDuration } from '../output/duration.ts'
import type { CliContext } from '../session/cli-context.ts'
import type { GlobalOptions } from '../session/session.ts'
import type { MoveCommandOptions } from '../shards/account-move.ts'
import { loadCommands } from './perform.ts'
import { withNote } from './safety.ts'

/** Adds the command that moves an account between the databases of a file of shards. */
export function addAccountMove(accounts: Command, around: CliContext): void {
  withNote(accounts.command('move'))
    .description(
      'with --shards: move an account to another node, or go on with a move that was interrupted; --to the node that it was leaving takes it back',
    )
    .argument('<account>', 'id')
    .requiredOption('--to <node>', 'the node that it moves to')
    .option('--wait <duration>', 'for transactions from before, until the move is taken back (default: 10s)', parseMs)
    .option('--attempts <duration>', 'for attempts under way, which then move as they are (default: 10s)', parseMs)
    .option('--pause <duration>', 'longest pause before the route is switched (default: 5m)', parseMs)
    .action(async (id: string, options: MoveCommandOptions, command: Command) => {
      const { moveAccount } = await loadCommands()
      await moveAccount(command.optsWithGlobals<GlobalOptions>(), around, id, options)
    })
}

function parseMs(text: string): number {
  const ms = parseDuration(text)
  if (ms === undefined || ms < 1) throw new InvalidArgumentError('Write it as 30s or 5m.')
  return ms
}
