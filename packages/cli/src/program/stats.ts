import { type Command, Option } from 'commander'
import type { StatsRequest } from '../commands/stats.ts'
import type { Perform } from './perform.ts'

/** Adds the command that shows counts by time. */
export function addStats(program: Command, perform: Perform): void {
  program
    .command('stats')
    .description('what was enqueued and ended, and how long it took, by hour or day of UTC')
    .addOption(new Option('--step <step>', 'hour or day').choices(['hour', 'day']).default('hour'))
    .option('--from <time>', 'with its zone, for example 2026-12-01T00:00:00Z (default: 48 hours or 30 days ago)')
    .option('--to <time>', 'the same (default: now)')
    .option('--gateway <name>', 'only of this gateway')
    .option('--account <id>', 'only of this account')
    .action((options: StatsRequest, command: Command) =>
      perform(command, (session, { showStats }) => showStats(session, options)),
    )
}
