import { type Command, InvalidArgumentError } from 'commander'
import type { CliContext } from '../session/cli-context.ts'
import { addAccountMove } from './account-move.ts'
import { parseCount } from './count.ts'
import type { Perform } from './perform.ts'
import { type NoteOptions, withNote } from './safety.ts'

interface LimitOptions extends NoteOptions {
  readonly rate?: Limit
  readonly concurrency?: Limit
  readonly weight?: Limit
}

/** A limit as typed; "none" resets it. */
type Limit = number | 'none'

const limitOf = (limit: Limit | undefined): number | null | undefined => (limit === 'none' ? null : limit)

/** Adds the commands about accounts. */
export function addAccounts(
  program: Command,
  perform: Perform,
  around: CliContext,
  onCode: (code: number) => void,
): void {
  const accounts = program.command('accounts').description('accounts: list, pause, resume, limit and move them')
  accounts
    .command('list')
    .description('accounts with unsettled transfers, paused ones and ones with limits')
    .option('--paused', 'only paused ones')
    .option('--limit <count>', 'at most this many', parseCount, 1000)
    .action((options: { paused?: true; limit: number }, command: Command) =>
      perform(command, (session, { listAccounts }) => listAccounts(session, options)),
    )
  withNote(accounts.command('pause'))
    .description("keep an account's transfers from being submitted")
    .argument('<account>', 'id')
    .action((id: string, note: NoteOptions, command: Command) =>
      perform(command, (session, { pauseAccount }) => pauseAccount(session, id, note), 'what it uses'),
    )
  withNote(accounts.command('resume'))
    .description('resume a paused account')
    .argument('<account>', 'id')
    .option(
      '--since <time>',
      'refuse it where that is another pause than the one since then, as "accounts limit" has it',
    )
    .action((id: string, note: NoteOptions & { since?: string }, command: Command) =>
      perform(command, (session, { resumeAccount }) => resumeAccount(session, id, note)),
    )
  addAccountLimits(accounts, perform)
  withNote(accounts.command('funds-arrived'))
    .description('send the transfers of an account that await funds again')
    .argument('<account>', 'id')
    .action((id: string, note: NoteOptions, command: Command) =>
      perform(command, (session, { fundAccount }) => fundAccount(session, id, note)),
    )
  withNote(accounts.command('retry-credentials'))
    .description('probe the credentials of an account at once, after the service refused them')
    .argument('<account>', 'id')
    .action((id: string, note: NoteOptions, command: Command) =>
      perform(command, (session, { retryAccountCredentials }) => retryAccountCredentials(session, id, note)),
    )
  addAccountMove(accounts, around, onCode)
}

function addAccountLimits(accounts: Command, perform: Perform): void {
  withNote(accounts.command('limit'))
    .description('show and change the limits of an account; "none" resets one')
    .argument('<account>', 'id')
    .option('--rate <number>', 'most submissions per second, over all workers', parseLimit)
    .option('--concurrency <number>', 'most submissions under way at once, over all workers', parseLimit)
    .option('--weight <number>', 'share in the order of dispatch, relative to the 1 of others', parseLimit)
    .action((id: string, options: LimitOptions, command: Command) => {
      const { rate, concurrency, weight, actor, reason } = options
      const change = { ratePerSecond: limitOf(rate), concurrency: limitOf(concurrency), weight: limitOf(weight) }
      return perform(command, (session, { limitAccount }) => limitAccount(session, id, change, { actor, reason }))
    })
}

/** The engine checks the range. */
function parseLimit(text: string): Limit {
  if (text === 'none') return text
  if (!/^\d{1,9}(\.\d{1,6})?$/.test(text)) throw new InvalidArgumentError('It is a number, or none.')
  return Number(text)
}
