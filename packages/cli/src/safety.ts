import type { Adoption, OperatorNote, SendingState, Stop, StopTarget } from '@outlay/core'
import { doubtAccount } from './known-account.ts'
import { formatPlace, readPlace } from './place.ts'
import type { Session } from './session.ts'
import { printable } from './table.ts'

const nameOf = (target: StopTarget): string => {
  if (target.scope === 'all') return 'everything'
  return target.scope === 'gateway' ? `the gateway ${target.name}` : `the account ${target.name}`
}

const optionOf = (target: StopTarget): string => (target.scope === 'all' ? '--all' : `--${target.scope} ${target.name}`)

/** Stops new requests for everything, a gateway or an account. */
export async function stopSending(session: Session, target: StopTarget, note: OperatorNote): Promise<void> {
  const changed = await session.transaction((tx) => session.engine.stops.add(tx, { ...target, ...note }))
  const { known, doubt } =
    target.scope === 'account' ? await doubtAccount(session, target.name) : { known: true, doubt: '' }
  const place = await readPlace(session, target.scope === 'account' ? target.name : undefined)
  session.write({ ...target, stopped: true, changed, known, place }, () => {
    const done = changed
      ? `Stopped: ${printable(nameOf(target))}. No request begins a second from now; requests under way are finished. It lasts until "outlay start-sending ${optionOf(target)}".`
      : `Stopped already: ${printable(nameOf(target))}; nothing changed.`
    return done + doubt + formatPlace(place, true)
  })
}

/** Ends a stop, and prints what else keeps transfers from being sent. */
export async function startSending(session: Session, target: StopTarget): Promise<void> {
  const changed = await session.transaction((tx) => session.engine.stops.end(tx, target))
  const { stops, fence, unfamiliar } = await session.engine.sending()
  const left = [
    ...(unfamiliar === null ? [] : ['The database is not known to the engine: "outlay adopt-database".']),
    ...(fence === null ? [] : ['The database is fenced: "outlay reconcile".']),
    ...(stops.length === 0
      ? []
      : [`Stops that are left: ${stops.map(({ scope, name }) => name ?? scope).join(', ')}.`]),
  ]
  const isAccount = target.scope === 'account'
  const { known, doubt } = isAccount ? await doubtAccount(session, target.name) : { known: true, doubt: '' }
  const place = await readPlace(session, isAccount ? target.name : undefined)
  session.write({ ...target, stopped: false, changed, known, stops, fence, unfamiliar, place }, () => {
    const done = changed
      ? `The stop of ${nameOf(target)} is ended.`
      : `There is no stop of ${nameOf(target)}; nothing changed.`
    return printable([done, ...left].join(' ')) + doubt + formatPlace(place, left.length > 0)
  })
}

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
  const isHeld = after.fence !== null || after.stops.some(({ scope }) => scope !== 'account')
  session.write({ before, after, place }, () => {
    const done = printable([describeAdopted(after), ...after.stops.map(describeStop)].join(' '))
    return done + formatPlace(place, isHeld)
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

function describeStop({ scope, name, since, reason, actor }: Stop): string {
  const target: StopTarget = scope === 'all' ? { scope } : { scope, name: name ?? '' }
  const who = actor === null ? '' : ` by ${actor}`
  const why = reason === null ? '' : ` (${reason})`
  return `The stop of ${nameOf(target)} since ${since}${who}${why} still holds: "outlay start-sending ${optionOf(target)}" ends it.`
}
