import type { DiscoveryService } from '@nestjs/core'
import type { Engine, EventHandler, EventsHandler } from '@outlay/core'
import { type NotedSubscription, readSubscriptions } from './subscription.ts'

type Wrapper = ReturnType<DiscoveryService['getProviders']>[number]

/** How handlers are found in an application. */
export interface Discovery {
  readonly discovery: Pick<DiscoveryService, 'getProviders' | 'getControllers'>
}

/** A decorated method of an application, and what it handles. */
export interface FoundHandler {
  readonly subscription: NotedSubscription
  /** As in `Payouts.onPaid`. */
  readonly place: string
  /** Undefined for a provider of which each request or consumer has another instance. */
  readonly handle: ((...args: unknown[]) => Promise<void>) | undefined
}

/** Finds the decorated methods of all providers and controllers, each once for every instance. */
export function findHandlers({ discovery }: Discovery): readonly FoundHandler[] {
  const seen = new Set<unknown>()
  return [...discovery.getProviders(), ...discovery.getControllers()].flatMap((wrapper) => {
    const isShared = wrapper.isDependencyTreeStatic() && !wrapper.isTransient
    const owner = isShared ? (wrapper.instance as unknown) : prototypeOf(wrapper)
    if (typeof owner !== 'object' || owner === null || seen.has(owner)) return []
    seen.add(owner)
    const methods = isShared ? Object.getPrototypeOf(owner) : owner
    if (methods === null) return []
    return readSubscriptions(methods as object).map(([name, subscription]) => ({
      subscription,
      place: `${String((owner as object).constructor?.name)}.${String(name)}`,
      handle: isShared
        ? (...args: unknown[]) =>
            (owner as Record<string | symbol, (...all: unknown[]) => Promise<void>>)[name]?.(...args)
        : undefined,
    })) as FoundHandler[]
  })
}

/** The methods of a provider without an instance of its own, if it is a class, or a factory under the name of one. */
function prototypeOf({ metatype, inject, token }: Wrapper): unknown {
  const type = inject === undefined ? metatype : token
  return typeof type === 'function' ? (type.prototype as unknown) : undefined
}

/**
 * Subscribes the handlers of one engine. Throws Error with the place of a handler that cannot be: of no engine of the application, of
 * a provider without one instance, or under a name that is in use.
 */
export function subscribeHandlers<Tx>(
  engine: Engine<Tx>,
  name: string,
  found: readonly FoundHandler[],
  engines: readonly string[],
): void {
  const places = new Map<string, string>()
  for (const { subscription, place, handle } of found) {
    const { name: own, together } = subscription
    const decorator = `@${together ? 'OnTransferMany' : 'OnTransfer'}("${own}") of ${place}`
    if (!engines.includes(subscription.engine))
      throw new Error(`${decorator} is for the engine "${subscription.engine}"; there are ${engines.join(', ')}.`)
    if (subscription.engine !== name) continue
    if (handle === undefined)
      throw new Error(`${decorator} is in a provider that is not a singleton, and events belong to no request.`)
    const other = places.get(own)
    if (other !== undefined)
      throw new Error(`${decorator} has the name of that of ${other}; names are unique, and so is each provider.`)
    places.set(own, place)
    try {
      subscribe(engine, subscription, handle)
    } catch (error) {
      throw new Error(`${decorator}: ${error instanceof Error ? error.message : String(error)}`, { cause: error })
    }
  }
}

function subscribe<Tx>(engine: Engine<Tx>, subscription: NotedSubscription, handle: unknown): void {
  const { name, types, together, options } = subscription
  if (together) engine.subscribeMany(name, types, handle as EventsHandler<Tx>, options)
  else engine.subscribe(name, types, handle as EventHandler<Tx>, options)
}
