import { type Adoption, defaultGateway, type OperatorNote, type SendingState, type StopTarget } from '@outlay/core'
import { printable } from '../output/table.ts'
import { Misuse } from '../session/problem.ts'
import type { Session } from '../session/session.ts'
import { readCircumstances, unlessUnreadable } from './circumstances.ts'
import { formatHolds, isHeld, nameOf, optionOf } from './holds.ts'
import { formatPlace, readPlace } from './place.ts'

/** Stops new requests for everything, a gateway or an account, and prints what else keeps its transfers from being sent. */
export async function stopSending(session: Session, target: StopTarget, note: OperatorNote): Promise<void> {
  const accountId = accountOf(target)
  const { stops } = await engineOf(session, target)
  const changed = await session.transaction((tx) => stops.add(tx, { ...target, ...note }))
  const own = `outlay start-sending ${optionOf(target)}`
  session.begin(
    changed
      ? `Stopped: ${printable(nameOf(target))}. No request begins a second from now; requests under way are finished. It lasts until "${own}".`
      : `Stopped already: ${printable(nameOf(target))}; nothing changed.`,
  )
  const [{ known, doubt, place, ...others }, sending] = await Promise.all([
    readCircumstances(session, accountId),
    target.scope === 'gateway' ? unlessUnreadable(readSendingGateways(session)) : undefined,
  ])
  const holds = others.holds?.filter(({ command }) => command !== own)
  // It may be that of somebody else, and whoever ends it ends it for both.
  const before = changed ? undefined : others.holds?.find(({ command }) => command === own)
  session.write({ ...target, stopped: true, changed, known, holds, place, ...(sending && { sending }) }, () => {
    return (
      (before === undefined ? '' : ` ${printable(before.what)}.`) +
      (sending === undefined ? '' : describeOthers(sending)) +
      formatHolds(holds) +
      doubt +
      formatPlace(place, true)
    )
  })
}

/** Gateways that workers have or had and that nothing stops. */
async function readSendingGateways({ engine, inspection }: Session): Promise<readonly string[]> {
  const [{ unfamiliar, fence, stops }, known] = await Promise.all([engine.sending(), inspection.gateways()])
  if (unfamiliar !== null || fence !== null || stops.some(({ scope }) => scope === 'all')) return []
  const stopped = new Set(stops.flatMap(({ scope, name }) => (scope === 'gateway' ? [name] : [])))
  return [...new Set([defaultGateway, ...known])].filter((name) => !stopped.has(name))
}

const describeOthers = (names: readonly string[]): string =>
  names.length === 0
    ? 'No gateway sends now.\n'
    : `Other gateways go on sending: ${names.map(printable).join(', ')}. "outlay stop --all" stops them, too.\n`

/** Ends a stop, and prints what else keeps its transfers from being sent. */
export async function startSending(
  session: Session,
  target: StopTarget,
  note: OperatorNote & { readonly since?: string | undefined } = {},
): Promise<void> {
  const accountId = accountOf(target)
  const { stops } = await engineOf(session, target)
  const changed = await session.transaction((tx) => stops.end(tx, { ...target, ...note }))
  const name = printable(nameOf(target))
  session.begin(changed ? `The stop of ${name} is ended.` : `There is no stop of ${name}; nothing changed.`)
  const { known, doubt, holds, place } = await readCircumstances(session, accountId)
  session.write({ ...target, stopped: false, changed, known, holds, place }, () => {
    return formatHolds(holds) + doubt + formatPlace(place, isHeld(holds, accountId))
  })
}

/** An engine with the gateways that workers have. Throws Misuse for another one: a mistyped stop would stop nothing. */
async function engineOf(session: Session, target: StopTarget): Promise<Session['engine']> {
  if (target.scope !== 'gateway' || target.name === defaultGateway) return session.engine
  const names = new Set([defaultGateway, ...(await session.inspection.gateways())])
  if (names.has(target.name)) return session.engineOf([...names])
  const known = [...names].map((name) => `"${name}"`).join(', ')
  const message = `No worker has had a gateway "${target.name}"; there ${names.size === 1 ? 'is' : 'are'} ${known}. Nothing was changed.`
  throw new Misuse(message, 'Give one of them, --all, or --account <id>.')
}

const accountOf = (target: StopTarget): string | undefined => (target.scope === 'account' ? target.name : undefined)

/** Stops all sending until a reconciliation. */
export async function fenceDatabase(session: Session, note: OperatorNote): Promise<void> {
  const changed = await session.transaction((tx) => session.engine.fence(tx, note))
  session.begin(
    changed
      ? 'Fenced. Nothing is sent until "outlay reconcile --since <time>" finds no open difference.'
      : 'It is fenced already; nothing changed.',
  )
  const place = await readPlace(session)
  session.write({ fenced: true, changed, place }, () => formatPlace(place, true))
}

/** Adopts this database as the engine's own. */
export async function adoptDatabase(session: Session, adoption: Adoption): Promise<void> {
  const before = await session.engine.sending()
  await session.transaction((tx) => session.engine.adoptDatabase(tx, adoption))
  session.begin('Adopted')
  const [after, { holds, place }] = await Promise.all([
    unlessUnreadable(session.engine.sending()),
    readCircumstances(session),
  ])
  session.write({ before, after, holds, place }, () => {
    // Where it is fenced, the first sentence says so.
    const others = holds?.filter(({ kind }) => kind !== 'fence')
    return describeAdopted(after) + formatHolds(others) + formatPlace(place, isHeld(holds))
  })
}

/** What is sent from an adopted database, behind the word that says so. A stop was a row of the copied database too, and holds here as it did there. */
function describeAdopted(state: SendingState | undefined): string {
  if (state === undefined)
    return '. Whether it is fenced, and what is sent from it, could not be read: see "outlay doctor".'
  const { fence, stops } = state
  if (fence !== null) {
    return ', and fenced: the service may be ahead of this database. Nothing is sent until "outlay reconcile --since <time>".'
  }
  const others = 'Make sure that no other copy of it has workers.'
  if (stops.some(({ scope }) => scope !== 'account')) return `, but nothing is sent yet. ${others}`
  const except = stops.length === 0 ? '' : ', except for the accounts that are stopped'
  return `: workers send from this database${except}. ${others}`
}
