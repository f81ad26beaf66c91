import type { Adoption, OperatorNote, SendingState, StopTarget } from '@outlay/core'
import { formatHolds, isHeld, nameOf, optionOf, readHolds } from './holds.ts'
import { doubtAccount } from './known-account.ts'
import { formatPlace, readPlace } from './place.ts'
import type { Session } from './session.ts'
import { printable } from './table.ts'

/** Stops new requests for everything, a gateway or an account, and prints what else keeps its transfers from being sent. */
export async function stopSending(session: Session, target: StopTarget, note: OperatorNote): Promise<void> {
  const accountId = accountOf(target)
  const changed = await session.transaction((tx) => session.engine.stops.add(tx, { ...target, ...note }))
  const { known, doubt } = await doubtTarget(session, accountId)
  const own = `outlay start-sending ${optionOf(target)}`
  const holds = (await readHolds(session, accountId))?.filter(({ command }) => command !== own)
  const place = await readPlace(session, accountId)
  session.write({ ...target, stopped: true, changed, known, holds, place }, () => {
    const done = changed
      ? `Stopped: ${printable(nameOf(target))}. No request begins a second from now; requests under way are finished. It lasts until "${own}".`
      : `Stopped already: ${printable(nameOf(target))}; nothing changed.`
    return done + formatHolds(holds) + doubt + formatPlace(place, true)
  })
}

/** Ends a stop, and prints what else keeps its transfers from being sent. */
export async function startSending(session: Session, target: StopTarget): Promise<void> {
  const accountId = accountOf(target)
  const changed = await session.transaction((tx) => session.engine.stops.end(tx, target))
  const { known, doubt } = await doubtTarget(session, accountId)
  const holds = await readHolds(session, accountId)
  const place = await readPlace(session, accountId)
  session.write({ ...target, stopped: false, changed, known, holds, place }, () => {
    const done = changed
      ? `The stop of ${nameOf(target)} is ended.`
      : `There is no stop of ${nameOf(target)}; nothing changed.`
    return printable(done) + formatHolds(holds) + doubt + formatPlace(place, isHeld(holds, accountId))
  })
}

const accountOf = (target: StopTarget): string | undefined => (target.scope === 'account' ? target.name : undefined)

const doubtTarget = (session: Session, accountId: string | undefined) =>
  accountId === undefined ? { known: true, doubt: '' } : doubtAccount(session, accountId)

/** Stops all sending until a reconciliation. */
export async function fenceDatabase(session: Session, note: OperatorNote): Promise<void> {
  const changed = await session.transaction((tx) => session.engine.fence(tx, note))
  const place = await readPlace(session)
  session.write({ fenced: true, changed, place }, () => {
    const done = changed
      ? 'Fenced. Nothing is sent until "outlay reconcile --since <time>" finds no open difference.'
      : 'It is fenced already; nothing changed.'
    return done + formatPlace(place, true)
  })
}

/** Adopts this database as the engine's own. */
export async function adoptDatabase(session: Session, adoption: Adoption): Promise<void> {
  const before = await session.engine.sending()
  await session.transaction((tx) => session.engine.adoptDatabase(tx, adoption))
  const after = await session.engine.sending()
  const place = await readPlace(session)
  const holds = await readHolds(session)
  session.write({ before, after, holds, place }, () => {
    // Where it is fenced, the first sentence says so.
    const others = holds?.filter(({ kind }) => kind !== 'fence')
    return describeAdopted(after) + formatHolds(others) + formatPlace(place, isHeld(holds))
  })
}

/** What is sent from an adopted database. A stop was a row of the copied database too, and holds here as it did there. */
function describeAdopted({ fence, stops }: SendingState): string {
  if (fence !== null) {
    return 'Adopted, and fenced: the service may be ahead of this database. Nothing is sent until "outlay reconcile --since <time>".'
  }
  const others = 'Make sure that no other copy of it has workers.'
  if (stops.some(({ scope }) => scope !== 'account')) return `Adopted, but nothing is sent yet. ${others}`
  const except = stops.length === 0 ? '' : ', except for the accounts that are stopped'
  return `Adopted: workers send from this database${except}. ${others}`
}
