import { subscriptions } from '../environment/subscriptions.ts'

/** How long the service keeps its keys, in milliseconds. */
export const keysLiveMs = 30 * 86_400_000

/** What the hosts of simulator and site subscribe to; the first wants everything, and so the endings too. */
export const subscribed = { everything: ['everything'], endings: subscriptions.map(({ name }) => name) }
