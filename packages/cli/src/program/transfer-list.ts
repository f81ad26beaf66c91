import { type Metadata, type Stage, stages, type TransferStatus, transferStatuses } from '@outlay/core'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { parseDuration } from '../output/duration.ts'
import { parseCount } from './count.ts'
import type { Perform } from './perform.ts'

interface ListOptions {
  readonly account?: string
  readonly gateway?: string
  readonly key?: string
  readonly stage?: Stage
  readonly status?: TransferStatus
  readonly reason?: string
  readonly amount?: string
  readonly currency?: string
  readonly payee?: string
  readonly since?: string
  readonly until?: string
  readonly metadata?: Metadata
  readonly batch?: string
  readonly stuck?: true
  readonly totals?: true
  readonly csv?: true
  readonly before?: string
  readonly limit: number
}

/** Adds the command that lists transfers. */
export function addTransferList(transfers: Command, perform: Perform): void {
  transfers
    .command('list')
    .description('transfers, newest first')
    .option('--account <id>', 'only of this account')
    .option('--gateway <name>', 'only of this gateway')
    .option('--key <key>', 'only with this idempotency key of the host')
    .addOption(new Option('--stage <stage>', 'only in this stage of the engine').choices(stages))
    .addOption(new Option('--status <status>', 'only with this status at the service').choices(transferStatuses))
    .option('--reason <code>', 'only with this reason')
    .option('--amount <value>', 'only of this amount, for example 1250.00', parseAmount)
    .option('--currency <name>', 'only in this currency')
    .option('--payee <id or name>', 'only to this payee: the id of its address, or the name of one given in full')
    .option('--since <time>', 'only those enqueued since, for example 2h or 2026-12-01T00:00:00Z', parseMoment)
    .option('--until <time>', 'only those enqueued before, for example 1d or 2026-12-31T00:00:00-05:00', parseMoment)
    .option('--metadata <key=value...>', 'only with this pair of metadata, or these pairs', parsePair)
    .option('--batch <id>', 'only of this batch')
    .option('--stuck', 'only those that wait for something other than their turn, and what to do')
    .option('--totals', 'instead of them, count and sum of all that match, by currency and status')
    .option('--csv', 'write them as CSV')
    .option('--before <transfer>', 'only those older than this one: the next page')
    .option('--limit <count>', 'at most this many', parseCount, 50)
    .action((options: ListOptions, command: Command) => {
      const { account: accountId, key: idempotencyKey, batch: batchId, ...filter } = options
      return perform(command, (session, { listTransfers }) =>
        listTransfers(session, { accountId, idempotencyKey, batchId, ...filter }),
      )
    })
}

function parseAmount(text: string): string {
  if (!/^\d{1,30}(\.\d{1,18})?$/.test(text)) throw new InvalidArgumentError('Write it as 1250 or 1250.00.')
  return text
}

const withZone = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?(Z|[+-]\d{2}:\d{2})$/

/** Reads a moment, or how long ago it was. A date without a zone would be another moment on each machine. */
function parseMoment(text: string): string {
  const ms = parseDuration(text)
  if (ms !== undefined) return new Date(Date.now() - ms).toISOString()
  const at = withZone.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(at))
    throw new InvalidArgumentError('Write it as 2h or 7d, or as 2026-12-01T00:00:00Z with its zone.')
  return new Date(at).toISOString()
}

/** Reads one pair, and adds it to those that were given before. */
function parsePair(text: string, before: Metadata = {}): Metadata {
  const at = text.indexOf('=')
  if (at < 1) throw new InvalidArgumentError('Write it as order=1042.')
  return { ...before, [text.slice(0, at)]: text.slice(at + 1) }
}
