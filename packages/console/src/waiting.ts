import type { Backlog } from '@outlay/core'
import type { ConsoleContext } from './context.ts'
import type { Counted } from './figures.ts'

/** The backlog, and how many transfers are in it. */
export async function countBacklog(reads: ConsoleContext['reads']): Promise<Counted<Backlog>> {
  const value = await reads.backlog()
  const { held, queued, submitting, awaitingFunds, submitted, blocked } = value
  return { value, transfers: held + queued + submitting + awaitingFunds + submitted + blocked }
}

/** Reads a figure of all transfers that wait or are under way. */
export const readWaiting = <T>(
  { reads, figures }: Pick<ConsoleContext, 'reads' | 'figures'>,
  name: string,
  read: () => Promise<T>,
): Promise<T> =>
  figures(name, async () => {
    const value = await read()
    const { transfers } = await figures('waiting', async () => {
      const counted = await countBacklog(reads)
      return { value: counted, transfers: counted.transfers }
    })
    return { value, transfers }
  })
