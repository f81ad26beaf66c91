import { OutlayError } from '../error.ts'
import { type EventType, eventTypes } from '../event.ts'
import { checkNames } from '../option-names.ts'
import type { AuditPort } from '../ports/audit.ts'
import type { EventHandler, EventsHandler, TransferEvent } from '../ports/handlers.ts'
import type { Subscription, SubscriptionPort } from '../ports/subscriptions.ts'
import { readAnyNote } from './actors.ts'
import { recordCommand } from './audited.ts'
import { checkFlag, checkText, isText } from './checked-text.ts'
import type { SubscribeOptions, Unsubscribed, UnsubscribeOptions } from './engine.ts'

/** Longest name of a subscription, in UTF-16 code units: it is in an index. */
const longestName = 255

const limits = { batchSize: 10_000, timeoutMs: 86_400_000 } as const

/** Creates a subscription from the host's input, whose handler gets one event at a time. */
export function makeSubscription<Tx, Type extends EventType>(
  name: string,
  types: readonly Type[],
  handler: EventHandler<Tx, Type>,
  options?: SubscribeOptions,
): Subscription<Tx> {
  const { batchSize = 1, timeoutMs } = checkedOptions(name, types, handler, options)
  const one: EventsHandler<Tx> = async ([event], tx, context) => {
    if (event !== undefined) await awaited(name, handler(event as TransferEvent<Type>, tx, context))
  }
  return { name, types: [...new Set(types)], batchSize, timeoutMs, together: false, handler: one }
}

/** Creates a subscription from the host's input, whose handler gets the events of a transaction together. */
export function makeBatchSubscription<Tx, Type extends EventType>(
  name: string,
  types: readonly Type[],
  handler: EventsHandler<Tx, Type>,
  options?: SubscribeOptions,
): Subscription<Tx> {
  const { batchSize = 100, timeoutMs } = checkedOptions(name, types, handler, options)
  const all: EventsHandler<Tx> = (events, tx, context) =>
    awaited(name, handler(events as readonly TransferEvent<Type>[], tx, context))
  return { name, types: [...new Set(types)], batchSize, timeoutMs, together: true, handler: all }
}

function checkedOptions(
  name: string,
  types: readonly EventType[],
  handler: unknown,
  options: SubscribeOptions = {},
): SubscribeOptions & { readonly timeoutMs: number } {
  checkNames(options, Object.keys(limits))
  const { batchSize, timeoutMs = 60_000 } = options
  checkName(name)
  checkTypes(name, types)
  if (typeof handler !== 'function')
    throw new Error(`Give "${name}" a function that handles its events: async (event, tx) => { … }.`)
  const numbers = [
    ['batchSize', batchSize],
    ['timeoutMs', timeoutMs],
  ] as const
  for (const [option, value] of numbers) {
    if (value === undefined || (Number.isInteger(value) && value >= 1 && value <= limits[option])) continue
    throw new Error(`${option} of "${name}" is a whole number from 1 to ${limits[option]}; got ${value}.`)
  }
  return { batchSize, timeoutMs }
}

function checkName(name: unknown): void {
  if (isText(name) && name.length <= longestName) return
  throw new Error(`The name of a subscription is well-formed text of 1 to ${longestName} characters without NUL.`)
}

function checkTypes(name: string, types: readonly string[]): void {
  if (!Array.isArray(types))
    throw new Error(`The types of "${name}" are a list of types of events, such as ['transfer.completed'].`)
  if (types.length === 0) throw new Error(`Give "${name}" at least one type of event, such as 'transfer.completed'.`)
  const unknown = types.find((type) => !(eventTypes as readonly string[]).includes(type))
  if (unknown !== undefined)
    throw new Error(
      `There is no type of event "${unknown}" (subscription "${name}"); there are ${eventTypes.join(', ')}.`,
    )
}

/** A write that is not awaited would happen after the commit, on a connection that others use. */
async function awaited(name: string, answer: unknown): Promise<void> {
  if (typeof (answer as Partial<Promise<void>> | null | undefined)?.then !== 'function') {
    throw new Error(`The handler of "${name}" answered without a promise, so its end is unknown.`)
  }
  await answer
}

/** Removes a subscription, or types of it. */
export async function unsubscribe<Tx>(
  backend: SubscriptionPort<Tx> & AuditPort<Tx>,
  tx: Tx,
  name: string,
  removal: UnsubscribeOptions = {},
): Promise<Unsubscribed> {
  // A mistyped "types" would remove the whole subscription.
  checkNames(removal, ['types', 'discard', 'actor', 'reason'])
  const { types, discard = false, actor, reason } = removal
  const by = readAnyNote({ actor, reason })
  checkText(name, 'name')
  checkFlag(discard, 'discard')
  if (types !== undefined && !(Array.isArray(types) && types.every(isText))) {
    const message = 'must be a list of types of events'
    throw OutlayError.fromIssues([{ field: 'types', code: 'invalid_request', message }])
  }
  if (types?.length === 0) throw new Error(`Name at least one type of "${name}" to remove, or leave \`types\` out.`)
  const { known, removed, pending, attendedForMs } = await backend.unsubscribe(tx, name, types ?? null, discard)
  if (removed) {
    const after = { subscription: name, types: types ?? null, discarded: pending }
    await recordCommand(backend, tx, by, { command: 'subscriptions.remove', after })
    return { removed, discarded: pending }
  }
  if (!known) return { removed, discarded: 0 }
  if (attendedForMs > 0) {
    const what = types === undefined ? `the subscription "${name}"` : `${types.join(', ')} of "${name}"`
    throw new OutlayError(
      'subscription_attended',
      `A running process attends ${what}, and its later events would be lost. Stop the processes that subscribe to it, or change them; two minutes after the last of them it can be removed, in ${Math.ceil(attendedForMs / 1000)} seconds at the earliest.`,
    )
  }
  throw new OutlayError(
    'events_undelivered',
    `The subscription "${name}" has ${pending} ${pending === 1 ? 'event' : 'events'} to handle, which would be lost; discard them, or let a process handle them first.`,
  )
}
