import { eventTypes } from '@outlay/core'

/** The subscriptions of a simulated host: one hears everything, the other how transfers end. */
export const subscriptions = [
  { name: 'everything', types: eventTypes },
  { name: 'endings', types: ['transfer.completed', 'transfer.failed', 'transfer.canceled'] },
] as const
