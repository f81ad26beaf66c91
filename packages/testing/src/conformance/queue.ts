/** Name of the table of what waits to be sent: all that the conformance suites know of the queue behind the engine. */
export const outboxTable = 'outlay.outbox'
