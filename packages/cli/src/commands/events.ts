import { setTimeout as delay } from 'node:timers/promises'
import type { EventTailOptions, HeldBackEvents, SubscriptionLag, TailedEvent } from '@outlay/adapters-pg'
import { Id, type OperatorNote } from '@outlay/core'
import { formatDuration } from '../output/duration.ts'
import { formatTable, plural, printable } from '../output/table.ts'
import type { CliContext } from '../session/cli-context.ts'
import { isLockTimeout, Refusal } from '../session/problem.ts'
import type { Session } from '../session/session.ts'
import { requireAccount } from './known-account.ts'

/** Pause between two reads of new events, in milliseconds. */
const pauseMs = 500

/** A process that attends a subscription records it every minute; when none has for this long, none does, in milliseconds. */
const attendedMs = 120_000

/** Prints events as they are committed, until its signal aborts; with `once`, only the present ones. */
export async function tailEvents(
  session: Session,
  around: CliContext,
  options: EventTailOptions & { readonly once?: boolean | undefined },
): Promise<void> {
  if (options.transferId !== undefined) Id.parse(options.transferId, 'transfer')
  if (options.accountId !== undefined) await requireAccount(session, options.accountId)
  const tail = session.inspection.tail(options)
  const { once = false } = options
  session.progress('Printing events; end with Ctrl-C.')
  let quiet = 0
  let noted: HeldBackEvents | undefined
  while (!session.signal.aborted) {
    // Whoever watches waits until a lock is gone.
    const waitOn = (error: unknown) => {
      if (once || !isLockTimeout(error)) throw error
    }
    const events = (await tail.next().catch(waitOn)) ?? []
    for (const event of events) around.stdout(`${session.json ? JSON.stringify(event) : formatEvent(event)}\n`)
    if (events.length > 0) continue
    quiet += 1
    if (once || quiet % readsUntilNote === 0) {
      const held = await tail.heldBack().catch(waitOn)
      if (held !== undefined && (held.pid !== noted?.pid || held.since !== noted.since)) {
        around.stderr(`${session.json ? JSON.stringify({ heldBack: held }) : formatHeld(held)}\n`)
        noted = held
      }
    }
    if (once) return
    await delay(pauseMs, undefined, { signal: session.signal }).catch(() => undefined)
  }
}

/** Reads without a new event after which it is said that events are held back. */
const readsUntilNote = 10

/** Says that events are not shown yet, and whose transaction is why. */
function formatHeld({ events, pid, gid, detail, since }: HeldBackEvents): string {
  const whose = gid !== null ? `the prepared transaction "${gid}"` : pid === null ? 'a transaction' : `process ${pid}`
  const notes = [detail, since === null ? '' : `open since ${since}`].filter((note) => note !== '').join(', ')
  const which = events === 1 ? 'An event is' : `${events} events are`
  return printable(
    `${which} held back behind ${whose}${notes === '' ? '' : ` (${notes})`}: what is committed is shown in the order of its transactions, once that one has ended.`,
  )
}

/** Formats one event as a line. */
function formatEvent(event: TailedEvent): string {
  const { occurredAt, transferId, sequence, accountId, type, stage, status, reason, remoteId, returned } = event
  const amount = returned === null ? null : `${returned.amount.value} ${returned.amount.currency}, ${returned.code}`
  const notes = [amount, reason, remoteId === null ? null : `at the service ${remoteId}`].filter(
    (note) => note !== null,
  )
  const tail = notes.length === 0 ? '' : `  (${notes.join(', ')})`
  return printable(`${occurredAt}  ${transferId}-${sequence}  ${accountId}  ${type}  ${stage}/${status}${tail}`)
}

/** Lists dead letters, oldest first. */
export async function listDeadLetters(
  session: Session,
  subscription: string | undefined,
  limit: number | undefined,
): Promise<void> {
  if (subscription !== undefined) await checkSubscription(session, subscription)
  const letters = await session.inspection.deadLetters({ subscription }, limit)
  session.write(letters, () => {
    if (letters.length === 0) return 'No dead letter.'
    return formatTable(letters, [
      ['subscription', (row) => row.subscription],
      ['transfer', (row) => row.transferId],
      ['event', (row) => `${row.sequence} ${row.type}`],
      ['at', (row) => row.occurredAt],
      ['failures', (row) => row.failures],
      ['last error', (row) => row.lastError],
    ])
  })
}

/** Returns the dead letters of a subscription to delivery. */
export async function replayDeadLetters(
  session: Session,
  subscription: string,
  transferId: string | undefined,
  note?: OperatorNote,
): Promise<void> {
  if (transferId !== undefined) Id.parse(transferId, 'transfer')
  const { unattendedMs } = await checkSubscription(session, subscription)
  session.progress(`Replaying the dead letters of ${subscription} …`)
  const count = await session.transaction((tx) =>
    session.inspection.replayDeadLetters(tx, subscription, transferId, note),
  )
  const attended = unattendedMs < attendedMs
  session.write({ subscription, replayed: count, attended }, () => {
    if (count === 0) return `${subscription} has no such dead letter; nothing changed.`
    const done = `${plural(count, 'dead letter')} of ${subscription} replayed`
    const since = formatDuration(unattendedMs)
    if (attended)
      return `${done}; a process attended that subscription ${since} ago, and handles them now if it still runs.`
    return `${done}. No process has attended that subscription for ${since}: start one that subscribes to it, which then handles them.`
  })
}

/** Reads a subscription, and throws when none has this name. */
async function checkSubscription(session: Session, subscription: string): Promise<SubscriptionLag> {
  const known = await session.inspection.subscriptions()
  const found = known.find(({ name }) => name === subscription)
  if (found !== undefined) return found
  const names = known.map(({ name }) => name).join(', ')
  const next = names === '' ? 'No engine with subscriptions has started here yet.' : `There are: ${names}.`
  throw new Refusal(`There is no subscription "${subscription}".`, next)
}
