/** Name of the table of jobs: all that the conformance suites know of the queue behind the engine. */
export const jobTable = 'outlay_queue.job'
