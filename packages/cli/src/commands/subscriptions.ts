import type { OperatorNote } from '@outlay/core'
import { plural } from '../output/table.ts'
import { Refusal } from '../session/problem.ts'
import type { Session } from '../session/session.ts'
import { formatSubscriptions } from './status.ts'

/** Lists subscriptions and their lag. */
export async function listSubscriptions(session: Session): Promise<void> {
  const subscriptions = await session.inspection.subscriptions()
  session.write(subscriptions, () =>
    subscriptions.length === 0 ? 'No subscription.' : formatSubscriptions(subscriptions),
  )
}

/** Removes a subscription, or types of it. */
export async function removeSubscription(
  session: Session,
  name: string,
  options: OperatorNote & { readonly types?: readonly string[] | undefined; readonly discard?: boolean | undefined },
): Promise<void> {
  const { types, discard = false, actor, reason } = options
  await checkTypes(session, name, types)
  const { removed, discarded } = await session.transaction((tx) =>
    session.engine.unsubscribe(tx, name, { types, discard, actor, reason }),
  )
  if (!removed) {
    const names = (await session.inspection.subscriptions()).map((one) => one.name).join(', ')
    const of = types === undefined ? '' : ` with ${types.join(', ')}`
    throw new Refusal(
      `There is no subscription "${name}"${of}.`,
      names === '' ? 'No engine with subscriptions has started here yet.' : `There are: ${names}.`,
    )
  }
  session.write({ subscription: name, types: types ?? null, discarded }, () => {
    const what = types === undefined ? name : `${types.join(', ')} of ${name}`
    const lost = discarded === 0 ? '' : ` ${plural(discarded, 'event')} discarded.`
    return `${what} removed.${lost} A process that subscribes to it later stores it again.`
  })
}

/** Refuses types that the subscription does not have: removing them would say that something was done. */
async function checkTypes(session: Session, name: string, types: readonly string[] = []): Promise<void> {
  const known = (await session.inspection.subscriptions()).find((one) => one.name === name)?.types
  const unknown = types.filter((type) => known?.includes(type) === false)
  if (known === undefined || unknown.length === 0) return
  throw new Refusal(`"${name}" does not have the types ${unknown.join(', ')}.`, `It has: ${known.join(', ')}.`)
}
