import { type Backend, createEngine, type Engine, type EnqueueRequest, OutlayError } from '@outlay/core'
import { expect, it } from 'vitest'
import { memoryGateway } from '../memory-gateway.ts'

/** A driver under test, its engine, and what a host sends through it. */
interface ControlBench<Tx> {
  readonly subject: {
    readonly backend: Backend<Tx>
    transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T>
  }
  readonly engine: Engine<Tx>
  /** A payout of the account `control`. */
  readonly payout: (request: Partial<EnqueueRequest>) => EnqueueRequest
  /** Text with all that a library may take for its own. */
  readonly text: string
}

/** What policies hold is approved, in the transaction of the host; a process that knows other policies reads them in it. */
export function describeControl<Tx>({ subject, engine, payout, text }: ControlBench<Tx>): void {
  it('holds by policies that another process has set, alone and among others, until they are approved', async () => {
    const other = createEngine({ backend: subject.backend, gateway: memoryGateway() })
    // A name has no characters that nobody sees, which the text has.
    const note = { actor: `o'petra "$1" ?? :name ::text @p1 💸`, reason: text }
    const request = () => payout({ createdBy: 'carl' })
    const set = (policies: Parameters<typeof other.policies.set>[1]) =>
      subject.transaction((tx) => other.policies.set(tx, policies, { ...note, clear: policies.length === 0 }))
    await set([{ name: 'control', when: { accounts: ['control'] }, approvals: [{ roles: ['finance'] }] }])
    try {
      const held = await subject.transaction(async (tx) => [
        await engine.transfers.enqueue(tx, request()),
        ...(await engine.transfers.enqueueMany(tx, [request(), request()])),
      ])
      expect(held.map(({ stage }) => stage)).toEqual(['held', 'held', 'held'])
      const [first, second, third] = held.map(({ id }) => id)
      await subject.transaction(async (tx) => {
        const approval = { actor: 'anna', roles: ['audit', 'finance'], note: text }
        expect(await engine.transfers.approve(tx, first ?? '', approval)).toMatchObject({ released: true })
        const own = await engine.transfers
          .approve(tx, second ?? '', { ...approval, actor: 'carl' })
          .catch((error) => error)
        expect(OutlayError.is(own, 'approval_refused')).toBe(true)
        await engine.transfers.reject(tx, second ?? '', note)
        await engine.transfers.cancel(tx, third ?? '', note)
      })
      expect((await engine.transfers.holds(first ?? ''))?.approvals).toMatchObject([{ actor: 'anna', note: text }])
      expect(await engine.transfers.get(first ?? '')).toMatchObject({ stage: 'queued', reason: null })
      expect(await engine.transfers.get(second ?? '')).toMatchObject({ status: 'canceled', reason: 'rejected' })
      expect(await engine.audit.list({ transferId: first ?? '' })).toMatchObject([{ actor: 'anna', reason: text }])
    } finally {
      await set([])
    }
    const [later] = await subject.transaction((tx) => engine.transfers.enqueueMany(tx, [request(), request()]))
    expect(later?.stage).toBe('queued')
  })
}
