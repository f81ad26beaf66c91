import { type EventType, eventTypes } from '@outlay/core'

/** Subscriptions of a host: one receives every event, the other how transfers end. */
interface SubscribedTypes {
  readonly name: 'everything' | 'endings'
  readonly types: readonly EventType[]
}

/** The subscriptions of a simulated host. */
export const subscriptions: readonly SubscribedTypes[] = [
  { name: 'everything', types: eventTypes },
  { name: 'endings', types: ['transfer.completed', 'transfer.failed', 'transfer.canceled'] },
]

const addedLater: readonly EventType[] = [
  'transfer.submitted',
  'transfer.blocked',
  'transfer.released',
  'transfer.processing',
  'transfer.canceled',
]

/** The same of an earlier release of the host, which did not know every type. */
export const earlierSubscriptions: readonly SubscribedTypes[] = subscriptions.map(({ name, types }) => ({
  name,
  types: types.filter((type) => !addedLater.includes(type)),
}))
