import { setTimeout as delay } from 'node:timers/promises'
import type { EventTailOptions, TailedEvent } from '@outlay/adapters-pg'
import { Refusal } from './problem.ts'
import type { Session } from './session.ts'
import type { Surroundings } from './surroundings.ts'
import { formatTable, plural, printable } from './table.ts'

/** Pause between two looks for new events, in milliseconds. */
const pauseMs = 500

/** Prints events as they are committed, until it is told to stop; with `once` those that are there. */
export async function tailEvents(
  session: Session,
  around: Surroundings,
  options: EventTailOptions & { readonly once?: boolean | undefined },
): Promise<void> {
  const tail = session.inspection.tail(options)
  session.progress('Following events; end with Ctrl-C.')
  while (!session.signal.aborted) {
    const events = await tail.next()
    for (const event of events) around.stdout(`${session.json ? JSON.stringify(event) : formatEvent(event)}\n`)
    if (events.length > 0) continue
    if (options.once === true) return
    await delay(pauseMs, undefined, { signal: session.signal }).catch(() => undefined)
  }
}

/** Writes one event as a line. */
function formatEvent(event: TailedEvent): string {
  const { occurredAt, transferId, sequence, accountId, type, stage, status, reason, remoteId } = event
  const notes = [reason, remoteId === null ? null : `at the service ${remoteId}`].filter((note) => note !== null)
  const tail = notes.length === 0 ? '' : `  (${notes.join(', ')})`
  return printable(`${occurredAt}  ${transferId}-${sequence}  ${accountId}  ${type}  ${stage}/${status}${tail}`)
}

/** Lists dead letters, oldest first. */
export async function listDeadLetters(
  session: Session,
  subscription: string | undefined,
  limit: number | undefined,
): Promise<void> {
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

/** Puts the dead letters of a subscription back, to be handled again. */
export async function replayDeadLetters(
  session: Session,
  subscription: string,
  transferId: string | undefined,
): Promise<void> {
  const known = await session.inspection.subscriptions()
  if (!known.some(({ name }) => name === subscription)) {
    const names = known.map(({ name }) => name).join(', ')
    const next = names === '' ? 'No engine with subscriptions has started here yet.' : `There are: ${names}.`
    throw new Refusal(`There is no subscription "${subscription}".`, next)
  }
  session.progress(`Putting the dead letters of ${subscription} back …`)
  const count = await session.transaction((tx) => session.inspection.replayDeadLetters(tx, subscription, transferId))
  session.write({ subscription, replayed: count }, () =>
    count === 0
      ? `${subscription} has no such dead letter; nothing changed.`
      : `${plural(count, 'dead letter')} of ${subscription} put back; a running engine handles them now.`,
  )
}
