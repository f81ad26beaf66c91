import { type Backend, createEngine, type EnqueueRequest } from '@outlay/core'
import { expect, it } from 'vitest'
import { drain, waitUntil } from '../harness.ts'
import { memoryGateway } from '../memory-gateway.ts'

/** Hooks of a library for the tests. */
interface Subject<Tx> {
  readonly backend: Backend<Tx>
  transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T>
  insertNote(tx: Tx, id: string, text: string): Promise<unknown>
}

/** A handler that exceeded its time limit can write nothing more, in a transaction of any library. */
export function describeHandlerLimits<Tx>(
  subject: Subject<Tx>,
  payout: (accountId: string) => EnqueueRequest,
  count: (table: string) => Promise<number>,
  clear: () => Promise<void>,
): void {
  it('ends a handler that exceeds its time limit, and discards its later writes', async () => {
    await clear()
    await using engine = createEngine({ backend: subject.backend, gateway: memoryGateway() })
    let runs = 0
    let letGo = () => {}
    const gate = new Promise<void>((resolve) => {
      letGo = resolve
    })
    let late: Promise<unknown> | undefined
    const handle = async (tx: Tx) => {
      runs += 1
      const isFirst = runs === 1
      await subject.insertNote(tx, isFirst ? 'early' : 'handled', '')
      if (!isFirst) return
      await gate
      late = subject.insertNote(tx, 'late', '').catch(() => undefined)
      await late
    }
    engine.subscribe('hangs', ['transfer.completed'], (_, tx) => handle(tx), { timeoutMs: 1_000 })
    await engine.start({ subscriptionConcurrency: 1 })
    await subject.transaction((tx) => engine.transfers.enqueue(tx, payout('hangs')))
    await drain(engine)
    letGo()
    await waitUntil(async () => late !== undefined)
    await late
    expect(await count('note')).toBe(1)
    // The connections of the pool are usable again.
    await Promise.all(
      ['a', 'b', 'c', 'd', 'e', 'f'].map((key) => subject.transaction((tx) => subject.insertNote(tx, key, ''))),
    )
    expect(await count('note')).toBe(7)
  })
}
