import { SetMetadata } from '@nestjs/common'
import { Reflector } from '@nestjs/core'
import type { EventType, HandlerContext, SubscribeOptions, TransferEvent } from '@outlay/core'
import { defaultEngine } from './injection.ts'

/** How events are delivered to a decorated method, and of which engine. */
export interface OnTransferOptions extends SubscribeOptions {
  /** Name of the engine, where a module has one. Default: the engine of the module without a name. */
  readonly engine?: string | undefined
}

/** A subscription that a decorator has noted on a method. */
export interface NotedSubscription {
  readonly engine: string
  readonly name: string
  readonly types: readonly EventType[]
  /** Whether the method gets the events of a transaction together. */
  readonly together: boolean
  readonly options: SubscribeOptions
}

type Handler<Events> = (events: Events, tx: never, context: HandlerContext) => Promise<void>

/** Decorates a method that can handle `Events`. */
type HandlerDecorator<Events> = <M extends Handler<Events>>(
  target: object,
  method: string | symbol,
  descriptor: TypedPropertyDescriptor<M>,
) => void

// A text, so that copies of this package in one process know the notes of each other.
const key = 'outlay:subscriptions'

/**
 * Subscribes a method of a provider or controller to events, as `engine.subscribe` does: one event, the transaction that commits with
 * the acknowledgement, and a context with a signal. Guards, pipes and interceptors are not applied.
 *
 * @example
 * \@OnTransfer('pay-invoices', ['transfer.completed'])
 * async onPaid({ transferId }: TransferEvent, tx: EntityManager) {
 *   await tx.update(Invoice, { transferId }, { status: 'paid' })
 * }
 */
export function OnTransfer<Type extends EventType>(
  name: string,
  types: readonly Type[],
  options?: OnTransferOptions,
): HandlerDecorator<TransferEvent<Type>> {
  return note('OnTransfer', { name, types, together: false }, options)
}

/** The same for a method that gets the events of a transaction in one call, as `engine.subscribeMany` does. */
export function OnTransferMany<Type extends EventType>(
  name: string,
  types: readonly Type[],
  options?: OnTransferOptions,
): HandlerDecorator<readonly TransferEvent<Type>[]> {
  return note('OnTransferMany', { name, types, together: true }, options)
}

function note<Events>(
  decorator: string,
  about: Pick<NotedSubscription, 'name' | 'types' | 'together'>,
  { engine = defaultEngine, ...options }: OnTransferOptions = {},
): HandlerDecorator<Events> {
  return (target, method, descriptor) => {
    const { value } = (descriptor ?? {}) as { readonly value?: unknown }
    if (typeof value !== 'function')
      throw new Error(`@${decorator}("${about.name}") decorates a method; compile with experimentalDecorators.`)
    const known = readNotes(target)
    const before = known.get(method)
    // On the class rather than the function, since other decorators and overrides put another function in its place.
    const own = before?.owner === target ? before.subscriptions : []
    const subscriptions = [...own, { ...about, engine, options }]
    SetMetadata(key, new Map(known).set(method, { owner: target, subscriptions }))(target as never)
  }
}

interface Notes {
  /** The prototype whose decorators they are. */
  readonly owner: object
  readonly subscriptions: readonly NotedSubscription[]
}

/** The notes of a prototype, with those that it inherits. */
const readNotes = (prototype: object): ReadonlyMap<string | symbol, Notes> =>
  new Reflector().get<ReadonlyMap<string | symbol, Notes> | undefined>(key, prototype as never) ?? new Map()

/** The methods of a prototype that are decorated, also in a class that it extends, with their subscriptions. */
export function readSubscriptions(
  prototype: object,
): readonly (readonly [method: string | symbol, subscription: NotedSubscription])[] {
  return [...readNotes(prototype)].flatMap(([method, { subscriptions }]) =>
    subscriptions.map((subscription) => [method, subscription] as const),
  )
}
