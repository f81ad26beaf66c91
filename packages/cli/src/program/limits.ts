import type { Command } from 'commander'
import { parseCount, parseVersion } from './count.ts'
import type { Perform } from './perform.ts'

/** Adds the commands about limits on sums. */
export function addLimits(program: Command, perform: Perform): void {
  const limits = program.command('limits').description('limits on sums: the most that may leave in a time')
  limits
    .command('show')
    .description('the limits, as JSON, and what is used of them now')
    .option('--limits-version <number>', 'an earlier version', parseCount)
    .action(({ limitsVersion }: { limitsVersion?: number }, command: Command) =>
      perform(command, (session, { showLimits }) => showLimits(session, limitsVersion)),
    )
  limits
    .command('set')
    .description('replace all limits by those of a file of JSON, a list')
    .argument('<file>', 'path')
    .requiredOption('--actor <name>', 'who does it, for the audit')
    .requiredOption('--reason <text>', 'why, for the audit')
    .option('--expected-version <number>', 'refuse it when the limits are of another version', parseVersion)
    .option('--clear', 'the file has an empty list, which ends all limits: what they hold goes')
    .option(
      '--gateway-module <file>',
      "a module that exports the host's gateway and its catalog, where that is one of its own",
    )
    .action((file: string, { gatewayModule, ...options }: SetOptions, command: Command) =>
      perform(command, (session, { setLimits }) => setLimits(session, file, options, gatewayModule)),
    )
}

interface SetOptions {
  readonly actor: string
  readonly reason: string
  readonly expectedVersion?: number
  readonly clear?: true
  readonly gatewayModule?: string
}
