import type { Drainer, DrainShape } from '../drainer.ts'
import { openRecordedDrain } from './recorded-drain.ts'
import { beginNextTransfers, recordAccepted } from './transfer-records.ts'

const done = async () => undefined

/**
 * The loop that a host would write without a queue: it claims queued transfers with `skip locked` and writes their attempts in one
 * statement, sends them once that has committed, and writes the answers of the batch with their events in another. The statements are
 * prepared. A claim reads the index on from the last one, and from its beginning when that has found nothing.
 */
export const openHandWrittenDrain = (serverUrl: string, { loops, batch }: DrainShape): Promise<Drainer> =>
  openRecordedDrain(
    serverUrl,
    { name: 'hand-written loop', database: 'bench_hand_written_drain', loops },
    async () => ({
      fill: done,
      makeLoop() {
        let last = ''
        return async (client, submit) => {
          for (;;) {
            const after = last
            const begun = await beginNextTransfers(client, after, batch)
            if (begun.length === 0 && after === '') return
            last = begun.length === 0 ? '' : ([last, ...begun.map(({ id }) => id)].toSorted().at(-1) ?? last)
            if (begun.length > 0) await recordAccepted(client, begun, await submit(begun))
          }
        }
      },
      prove: done,
      close: done,
    }),
  )
