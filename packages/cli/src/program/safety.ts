import type { StopTarget } from '@outlay/core'
import { type Command, InvalidArgumentError } from 'commander'
import { parseDuration } from '../output/duration.ts'
import { Misuse } from '../session/problem.ts'
import { collect } from './count.ts'
import type { Perform } from './perform.ts'

/** Who acts, and why. */
export interface NoteOptions {
  readonly reason?: string
  readonly actor?: string
}

interface TargetOptions extends NoteOptions {
  readonly all?: true
  readonly gateway?: string
  readonly account?: string
}

/** Adds the options for who acts, and why. */
export const withNote = (command: Command): Command =>
  command.option('--reason <text>', 'why, for the record').option('--actor <name>', 'who does it, for the record')

const withTarget = (command: Command): Command =>
  command
    .option('--all', 'everything')
    .option('--gateway <name>', 'one gateway by its name, and no other; the only one of an engine is "default"')
    .option('--account <id>', 'one account')

function readTarget({ all, gateway, account }: TargetOptions): StopTarget {
  if ([all, gateway, account].filter((one) => one !== undefined).length !== 1) {
    throw new Misuse('The target to stop or start is missing.', 'Give one of --all, --gateway <name>, --account <id>.')
  }
  if (gateway !== undefined && !/^\S{1,63}$/.test(gateway)) {
    throw new Misuse(`"${gateway}" is no name of a gateway.`, 'Give the name under which the engine has it, or --all.')
  }
  if (account !== undefined) return { scope: 'account', name: account }
  return gateway === undefined ? { scope: 'all' } : { scope: 'gateway', name: gateway }
}

/** Adds the commands that stop sending, and those that allow it again. */
export function addSafety(program: Command, perform: Perform): void {
  withNote(withTarget(program.command('stop')))
    .description('stop new requests in every worker within a second; requests under way are finished')
    .action(({ reason, actor, ...options }: TargetOptions, command: Command) => {
      const target = readTarget(options)
      return perform(
        command,
        (session, { stopSending }) => stopSending(session, target, { reason, actor }),
        'what it uses',
      )
    })
  withNote(withTarget(program.command('start-sending')))
    .description('end a stop')
    .option('--since <time>', 'refuse it where that is another stop than the one since then, as "status" has it')
    .action(({ reason, actor, since, ...options }: TargetOptions & { since?: string }, command: Command) => {
      const target = readTarget(options)
      return perform(command, (session, { startSending }) => startSending(session, target, { reason, actor, since }))
    })
  withNote(program.command('fence'))
    .description('send nothing until a reconciliation with the service')
    .action((note: NoteOptions, command: Command) =>
      perform(command, (session, { fenceDatabase }) => fenceDatabase(session, note), 'what it uses'),
    )
  withNote(program.command('adopt-database'))
    .description('adopt a copied, restored or moved database as the one to pay from; it is fenced unless it was moved')
    .option('--deployment <name>', 'the deployment that it belongs to from now on (default: the current one)')
    .option('--moved', 'it was moved whole, with its workers stopped: the service cannot be ahead of it')
    .action((options: NoteOptions & { deployment?: string; moved?: true }, command: Command) =>
      perform(command, (session, commands) => commands.adoptDatabase(session, options)),
    )
  addReconcile(program, perform)
}

interface ReconcileCommandOptions extends NoteOptions {
  readonly since: Date
  readonly gatewayModule: string
  readonly account: string[]
  readonly match: [string, string][]
  readonly uniqueNotes?: true
  readonly dryRun?: true
  readonly acknowledge?: true
}

function addReconcile(program: Command, perform: Perform): void {
  withNote(program.command('reconcile'))
    .description(
      'compare with the list of the service after a restore, and lift the fence; exits with 1 while it stays',
    )
    .requiredOption(
      '--since <time>',
      'no later than the moment that was restored: a time, or 2h for two hours ago',
      parseSince,
    )
    .requiredOption(
      '--gateway-module <file>',
      "a module that exports the host's gateway, or a function that creates it",
    )
    .option('--account <id>', 'also this account, which the database may not know; may be repeated', collect, [])
    .option('--match <pair>', 'transfer=id at the service, where a person knows; may be repeated', collectPair, [])
    .option(
      '--unique-notes',
      'no two transfers of an account have the same note: where a key may be forgotten, match the only transfer that is like a row',
    )
    .option('--dry-run', 'only print what would be done')
    .option('--acknowledge', 'lift the fence although differences stay open; blocked transfers stay blocked')
    .action(({ gatewayModule, account, match, ...options }: ReconcileCommandOptions, command: Command) =>
      perform(command, (session, { runReconciliation }) =>
        runReconciliation(session, gatewayModule, {
          ...options,
          accounts: account,
          matches: Object.fromEntries(match),
        }),
      ),
    )
}

function collectPair(value: string, before: [string, string][]): [string, string][] {
  // Ids of a service may contain the sign, those of transfers do not.
  const at = value.indexOf('=')
  const [transfer, remote] = [value.slice(0, Math.max(at, 0)), value.slice(at + 1)]
  if (transfer === '' || remote === '') throw new InvalidArgumentError('Write it as <transfer>=<id at the service>.')
  return [...before, [transfer, remote]]
}

/** A time without a zone would be one of the zone of whoever types it. */
const timeWithZone = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})$/

function parseSince(text: string): Date {
  const ms = parseDuration(text)
  const time = ms !== undefined ? Date.now() - ms : timeWithZone.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(time))
    throw new InvalidArgumentError('Write it as 2026-03-01T12:00:00Z, or as 2h for two hours ago.')
  return new Date(time)
}
