import type { RoleNames } from '@outlay/adapters-pg'
import { eventTypes, type ReleaseNote } from '@outlay/core'
import { Command, InvalidArgumentError, Option } from 'commander'
import { parseDuration } from '../output/duration.ts'
import type { CliContext } from '../session/cli-context.ts'
import { Misuse } from '../session/problem.ts'
import type { GlobalOptions } from '../session/session.ts'
import { addAccounts } from './accounts.ts'
import { addBatches } from './batches.ts'
import { addConsole } from './console.ts'
import { addHolding, addPolicies } from './control.ts'
import { parseCount } from './count.ts'
import { addLimits } from './limits.ts'
import { loadCommands, type Perform } from './perform.ts'
import { addResolve, addResolveReturn } from './resolve.ts'
import { addSafety, type NoteOptions, withNote } from './safety.ts'
import { addStats } from './stats.ts'
import { addTransferList } from './transfer-list.ts'

/** Creates the commands. `onCode` gets the exit code of a command that has one of its own. */
export function createProgram(around: CliContext, version: string, onCode: (code: number) => void): Command {
  const perform: Perform = async (command, work, needs = 'current schema') => {
    const commands = await loadCommands()
    const run = async (options: GlobalOptions, own: CliContext) => {
      const code = await commands.withSession(options, own, async (session) => {
        if (needs === 'what it uses') return commands.onOlderSchema(session, async (at) => work(at, commands))
        if (needs === 'current schema') await commands.checkSchema(session)
        return work(session, commands)
      })
      return typeof code === 'number' ? code : undefined
    }
    const code = await commands.runWhere(command, around, run)
    if (typeof code === 'number') onCode(code)
  }
  const program = new Command('outlay')
    .description("Operates Outlay's engine in a Postgres database.")
    .version(version)
    .option('--database-url <url>', 'connection string (default: DATABASE_URL)')
    .option('--schema <name>', 'schema of the engine (default: outlay)')
    .option('--queue-schema <name>', "schema of the queue (default: the engine's with _queue behind it)")
    .option('--shards <file>', 'JSON or a module with the databases of several nodes, instead of --database-url')
    .option('--node <name>', 'with --shards: only this one')
    .option('--json', 'write results as JSON')
    .configureHelp({ showGlobalOptions: true })
    .exitOverride()
    .configureOutput({ writeOut: (text) => around.stdout(text), writeErr: (text) => around.stderr(text) })
    .showHelpAfterError('Run it with --help for its arguments and options.')
  addPlace(program, perform, around)
  addTransfers(program, perform)
  addAccounts(program, perform, around, onCode)
  addBatches(program, perform)
  addEvents(program, perform, around)
  addSubscriptions(program, perform)
  addSafety(program, perform)
  addPolicies(program, perform, around)
  addLimits(program, perform)
  addStats(program, perform)
  addConsole(program, perform)
  checkOptions(program)
  return program
}

/**
 * Refuses an option that is given twice, of which only the last would count: `stop --account a --account b` would stop b alone. And one
 * without its value, as a variable that is not set gives it: `transfers list --account ""` would list nothing, as if all were well, and
 * `reconcile --actor --dry-run` would be no dry run, by an actor of that name.
 */
function checkOptions(command: Command): void {
  for (const option of command.options) {
    if (!option.required) continue
    const isOnce = !option.variadic && !Array.isArray(option.defaultValue)
    let isGiven = false
    command.on(`option:${option.name()}`, (value: string) => {
      const refuse = (why: string) => command.error(`error: option '${option.flags}' is given ${why}`, { exitCode: 2 })
      if (value === '') refuse('without a value')
      if (flag.test(value)) refuse(`without a value, or with the option ${value} for its value`)
      if (option.long === '--account' && !accountId.test(value))
        refuse('without the id of an account: see "outlay accounts list"')
      if (isGiven && isOnce) refuse('twice, and only one would count')
      isGiven = true
    })
  }
  for (const sub of command.commands) checkOptions(sub)
}

const flag = /^-(-|[a-z]$)/i

/** An account with another id cannot be, so nothing would be found of it, as if all were well. */
const accountId = /^[\x21-\x7e]{1,255}$/

function addPlace(program: Command, perform: Perform, around: CliContext): void {
  program
    .command('migrate')
    .description('bring the schema to this release; safe to repeat and to run from several processes at once')
    .option('--dry-run', 'only print what would run')
    .option('--print', "print the SQL for an empty database, for the host's own migration tool; needs no database")
    .action(async (options: { dryRun?: true; print?: true }, command: Command) => {
      if (options.print) {
        const { nameBackend } = await loadCommands()
        around.stdout(nameBackend(command.optsWithGlobals<GlobalOptions>()).migrationSql())
      } else await perform(command, (session, { migrate }) => migrate(session, options), 'nothing')
    })
  program
    .command('doctor')
    .description('find problems and print what to do; exits with 1 when something is serious')
    .action((_options: unknown, command: Command) =>
      perform(command, (session, { runDoctor }) => runDoctor(session), 'nothing'),
    )
  program
    .command('status')
    .description('the backlog, the workers and the lag of each subscription')
    .action((_options: unknown, command: Command) => perform(command, (session, { showStatus }) => showStatus(session)))
  program
    .command('roles')
    .description('create the database roles and grant each only what it needs; run it again after every migration')
    .option('--enqueue <role>', 'enqueues: web processes (default: outlay_enqueue)')
    .option('--worker <role>', 'works: workers, webhook endpoints, operators (default: outlay_worker)')
    .option('--migrator <role>', 'owns the schemas: the deployment (default: outlay_migrator)')
    .option('--reader <role>', 'only reads: dashboards, alarms (default: outlay_reader)')
    .option('--print', 'only print the SQL; needs no database')
    .action(async ({ print, ...roles }: RoleNames & { print?: true }, command: Command) => {
      if (print) {
        const { namesOf, writeRoles } = await loadCommands()
        around.stdout(writeRoles(namesOf(command.optsWithGlobals<GlobalOptions>()), roles))
      } else await perform(command, (session, { makeRoles }) => makeRoles(session, roles), 'nothing')
    })
  program
    .command('archive')
    .description('archive the events and attempts of transfers that ended long ago; their keys stay in use')
    .requiredOption(
      '--older-than <duration>',
      'only transfers that ended at least this long ago, for example 400d',
      parseTime,
    )
    .option('--limit <count>', 'at most this many transfers', parseCount)
    .option('--dry-run', 'only print how many there are')
    .action((options: { olderThan: number; limit?: number; dryRun?: true }, command: Command) =>
      perform(command, (session, { archiveTransfers }) =>
        archiveTransfers(session, { olderThanMs: options.olderThan, ...options }),
      ),
    )
  withReference(program.command('prove'))
    .description('print the evidence about a transfer, and a verdict')
    .action((id: string | undefined, options: ReferenceOptions, command: Command) => {
      const reference = readReference(id, options)
      return perform(command, (session, { proveTransfer }) => proveTransfer(session, reference))
    })
}

interface ReferenceOptions {
  readonly account?: string
  readonly key?: string
}

const withReference = (command: Command): Command =>
  command
    .argument('[transfer]', 'id of the transfer')
    .option('--account <id>', 'with --key instead of the id')
    .option('--key <key>', 'idempotency key, with --account')

function readReference(id: string | undefined, { account: accountId, key }: ReferenceOptions) {
  // Of another transfer they would be passed over, and the evidence would be taken for that of the one that was meant.
  if (id !== undefined ? (accountId ?? key) !== undefined : accountId === undefined || key === undefined) {
    throw new Misuse('Which transfer is meant?', 'Give either its id, or both --account and --key.')
  }
  return { id, accountId, key }
}

function addTransfers(program: Command, perform: Perform): void {
  const transfers = program.command('transfers').description('transfers: list them, and decide about stuck ones')
  addTransferList(transfers, perform)
  withReference(transfers.command('show'))
    .description('one transfer: its state, what it waits for, its history')
    .action((id: string | undefined, options: ReferenceOptions, command: Command) => {
      const reference = readReference(id, options)
      return perform(command, (session, { showTransfer }) => showTransfer(session, reference))
    })
  withNote(transfers.command('cancel'))
    .description('end transfers that certainly have no effect; all of them or none')
    .argument('<transfer...>', 'ids')
    .action((ids: string[], options: NoteOptions, command: Command) =>
      perform(command, (session, { cancelTransfers }) => cancelTransfers(session, ids, options)),
    )
  withNote(transfers.command('release'))
    .description('return held, blocked or waiting transfers to the queue with their own keys; all of them or none')
    .argument('<transfer...>', 'ids')
    .option('--hold <name>', 'the hold that ends: operator, limit or screening (default: operator)')
    .option('--policy <name>', 'the policy of that hold')
    .option(
      '--since <time>',
      'refuse it where that hold is another one than the one since then, as "transfers show" has it',
    )
    .action((ids: string[], options: ReleaseNote, command: Command) =>
      perform(command, (session, { releaseTransfers }) => releaseTransfers(session, ids, options)),
    )
  addHolding(transfers, perform)
  addResolve(transfers, perform)
  addResolveReturn(transfers, perform)
  transfers
    .command('resubmit')
    .description('enqueue the request of a failed or canceled transfer again, as a new one with a new key')
    .argument('<transfer>', 'id')
    .option(
      '--key <key>',
      'idempotency key of the new one (default: derived from the key of the ended one, k:resubmit from k, or k:at:name at another gateway, so that there is only one)',
    )
    .option('--not-before <time>', 'when to send it at the earliest, or "now" (default: as the ended one)')
    .option('--expires-at <time>', 'when to send it at the latest, or "never" (default: as the ended one)')
    .option(
      '--amount <value>',
      'the amount that should have been paid, in the same currency (default: as the ended one)',
    )
    .option('--to <address>', 'id of the address where it should have gone (default: as the ended one)')
    .option(
      '--gateway <name>',
      'send it at this gateway, where its own has never accepted it (default: as the ended one)',
    )
    .option(
      '--actor <name>',
      'who resubmits it, for the audit; needed where a policy holds it, and this person does not approve it',
    )
    .option('--reason <text>', 'why, for the audit')
    .option(
      '--gateway-module <file>',
      "a module that exports the host's gateway, and its catalog if it has one of its own",
    )
    .action((id: string, { gatewayModule, ...options }: ResubmitCommandOptions, command: Command) =>
      perform(command, (session, { resubmitTransfer }) =>
        resubmitTransfer(session, id, readAgain(options), gatewayModule),
      ),
    )
}

interface ResubmitCommandOptions {
  readonly key?: string
  readonly notBefore?: string
  readonly expiresAt?: string
  readonly amount?: string
  readonly to?: string
  readonly gateway?: string
  readonly actor?: string
  readonly reason?: string
  readonly gatewayModule?: string
}

const readAgain = ({
  key,
  notBefore,
  expiresAt,
  amount,
  to,
  gateway,
  actor,
  reason,
}: Omit<ResubmitCommandOptions, 'gatewayModule'>) => ({
  amount,
  to,
  ...(gateway === undefined ? {} : { gateway }),
  ...(actor === undefined ? {} : { createdBy: actor }),
  ...(reason === undefined ? {} : { reason }),
  idempotencyKey: key,
  notBefore: notBefore === 'now' ? null : notBefore,
  expiresAt: expiresAt === 'never' ? null : expiresAt,
})

interface TailOptions {
  readonly account?: string
  readonly transfer?: string
  readonly type?: string
  readonly since?: number
  readonly once?: true
}

function addEvents(program: Command, perform: Perform, around: CliContext): void {
  const events = program.command('events').description('events, and the dead letters of subscriptions')
  events
    .command('tail')
    .description(
      'print events as they are committed, each once; with --json one object a line; transfer.enqueued only where a subscription wants it',
    )
    .option('--account <id>', 'only of this account')
    .option('--transfer <id>', 'only of this transfer')
    .addOption(new Option('--type <type>', 'only of this type, for example transfer.failed').choices(eventTypes))
    .option('--since <duration>', 'also those recorded within, for example 15m', parseTime)
    .option('--once', 'end when there are no more')
    .action((options: TailOptions, command: Command) => {
      const { account: accountId, transfer: transferId, since: sinceMs, type, once } = options
      return perform(command, (session, { tailEvents }) =>
        tailEvents(session, around, { accountId, transferId, sinceMs, type, once }),
      )
    })
  events
    .command('dead')
    .description('events whose handler failed too often')
    .argument('[subscription]', 'only of this one')
    .option('--limit <count>', 'at most this many', parseCount, 100)
    .action((subscription: string | undefined, options: { limit: number }, command: Command) =>
      perform(command, (session, { listDeadLetters }) => listDeadLetters(session, subscription, options.limit)),
    )
  withNote(events.command('replay'))
    .description('return the dead letters of a subscription to delivery')
    .argument('<subscription>', 'name')
    .option('--transfer <id>', 'only those of this transfer')
    .action((subscription: string, { transfer, ...note }: NoteOptions & { transfer?: string }, command: Command) =>
      perform(command, (session, { replayDeadLetters }) => replayDeadLetters(session, subscription, transfer, note)),
    )
}

function addSubscriptions(program: Command, perform: Perform): void {
  const subscriptions = program.command('subscriptions').description('subscriptions: show their lag, and remove them')
  subscriptions
    .command('list')
    .description('subscriptions and their lag')
    .action((_options: unknown, command: Command) =>
      perform(command, (session, { listSubscriptions }) => listSubscriptions(session)),
    )
  withNote(subscriptions.command('remove'))
    .description('remove a subscription that no process uses any more; refused while it has events to handle')
    .argument('<subscription>', 'name')
    .option('--types <type...>', 'only these types of it')
    .option('--discard', 'delete its undelivered events, dead letters included')
    .action((name: string, options: NoteOptions & { types?: string[]; discard?: true }, command: Command) =>
      perform(command, (session, { removeSubscription }) => removeSubscription(session, name, options)),
    )
}

function parseTime(text: string): number {
  const ms = parseDuration(text)
  if (ms === undefined) throw new InvalidArgumentError('Write it as 90s, 15m, 2h or 1d.')
  return ms
}
