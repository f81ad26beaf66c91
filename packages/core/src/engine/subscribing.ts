import { OutlayError } from '../error.ts'
import { type EventType, eventTypes } from '../event.ts'
import type { Backend } from '../ports/backend.ts'
import type { EventHandler, Subscription } from '../ports/work.ts'
import type { SubscribeOptions, Unsubscribed, UnsubscribeOptions } from './engine.ts'

const limits = { batchSize: 10_000, timeoutMs: 86_400_000 } as const

/** Makes a subscription of what a host gives. */
export function makeSubscription<Tx>(
  name: string,
  types: readonly EventType[],
  handler: EventHandler<Tx>,
  options: SubscribeOptions = {},
): Subscription<Tx> {
  const { batchSize = 1, timeoutMs = 60_000 } = options
  checkTypes(name, types)
  for (const [option, value] of Object.entries({ batchSize, timeoutMs }) as [keyof typeof limits, number][]) {
    if (Number.isInteger(value) && value >= 1 && value <= limits[option]) continue
    throw new Error(`${option} of "${name}" is a whole number from 1 to ${limits[option]}; got ${value}.`)
  }
  return { name, types: [...new Set(types)], batchSize, timeoutMs, handler: checked(name, handler) }
}

function checkTypes(name: string, types: readonly string[]): void {
  if (types.length === 0) throw new Error(`Give "${name}" at least one type of event.`)
  const unknown = types.find((type) => !(eventTypes as readonly string[]).includes(type))
  if (unknown !== undefined) throw new Error(`There is no type of event "${unknown}" (subscription "${name}").`)
}

/** What is not awaited would be written after the commit, on a connection that is in other hands. */
const checked =
  <Tx>(name: string, handler: EventHandler<Tx>): EventHandler<Tx> =>
  async (event, tx, context) => {
    const answer: unknown = handler(event, tx, context)
    if (typeof (answer as Partial<Promise<void>> | null | undefined)?.then !== 'function') {
      throw new Error(`The handler of "${name}" answered without a promise, so nobody knows when it has ended.`)
    }
    await answer
  }

/** Removes a subscription, or types of it. */
export async function unsubscribe<Tx>(
  backend: Pick<Backend<Tx>, 'unsubscribe'>,
  tx: Tx,
  name: string,
  { types, discard = false }: UnsubscribeOptions = {},
): Promise<Unsubscribed> {
  if (types?.length === 0) throw new Error(`Name at least one type of "${name}" to remove, or leave \`types\` out.`)
  const { known, removed, pending } = await backend.unsubscribe(tx, name, types ?? null, discard)
  if (removed || !known) return { removed, discarded: removed ? pending : 0 }
  throw new OutlayError(
    'events_undelivered',
    `The subscription "${name}" has ${pending} ${pending === 1 ? 'event' : 'events'} to handle, which would be lost; discard them, or let a process handle them first.`,
  )
}
