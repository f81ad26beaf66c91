import { setImmediate } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { defaultCatalog } from '../catalog.ts'
import type { Policy } from '../policy.ts'
import type { NewTransfer } from '../ports/new-transfer.ts'
import type { FactQuery, KnownPolicies, StoredFacts } from '../ports/policies.ts'
import type { EnqueuedTransfer } from '../ports/stored-transfer.ts'
import { createJudgement } from './judging.ts'
import { usualFacts } from './policy-facts.ts'

const refusal: Policy = { name: 'no-wires', when: { rails: ['wire'] }, refuse: 'there are no wires' }
const approval: Policy = { name: 'all', approvals: [{}] }

const transfers = (count: number, transferType = 'ach_credit'): readonly NewTransfer[] =>
  Array.from({ length: count }, (_, n) => ({
    id: `transfer-${n}`,
    accountId: 'acme',
    idempotencyKey: `key-${n}`,
    fingerprint: 'f',
    request: {
      amount: { value: '1.00', currency: 'USD' },
      source: { addressId: 'wallet', valueType: 'USDC', transferType: 'base' },
      destination: { addressId: 'bank', valueType: 'USD', transferType },
    },
    gateway: 'default',
    notBefore: null,
    expiresAt: null,
    createdBy: 'carl',
  }))

/** A judgement over policies that the test changes, with what it asks and what it hands over to be written. */
function judgement(yieldToEventLoop: () => Promise<void> = async () => undefined, now = () => new Date(0)) {
  const stored = new Set<string>()
  const state = { known: { version: 0, tag: null, policies: [] } as KnownPolicies }
  const asked: (readonly string[])[] = []
  const written: { readonly tag: string | null; readonly policies: readonly (string | undefined)[] }[] = []
  const judge = createJudgement<null>({
    backend: {
      readPolicies: async () => state.known,
      readFacts: async () => usualFacts,
      async areStored(_, given) {
        asked.push(given.map(({ idempotencyKey }) => idempotencyKey))
        return given.map(({ idempotencyKey }) => stored.has(idempotencyKey))
      },
    },
    catalog: defaultCatalog,
    runtime: { clock: { now }, yieldToEventLoop },
  })
  const enqueue = (given: readonly NewTransfer[]) =>
    judge(null, given, true, async (held, tag) => {
      if (tag !== state.known.tag) return 'stale'
      written.push({ tag, policies: held.map(({ holds }) => holds?.[0]?.policy) })
      return held as unknown as readonly EnqueuedTransfer[]
    })
  const set = (tag: string, ...policies: Policy[]) => {
    state.known = { version: state.known.version + 1, tag, policies }
  }
  return { enqueue, set, stored, asked, written }
}

describe('the judgement of very many transfers', () => {
  it('lets timers and other work of the process run', async () => {
    const { enqueue, set } = judgement(() => setImmediate())
    set('one', approval)
    let isJudged = false
    const judging = enqueue(transfers(50_000)).then(() => {
      isJudged = true
    })
    let turns = 0
    for (; !isJudged; turns += 1) await setImmediate()
    await judging
    // One of each hundred, and not one for all.
    expect(turns).toBeGreaterThan(400)
  })

  it('ends a turn after some milliseconds, whatever each takes, and when the clock was set back', async () => {
    let time = 1_000_000
    let turns = 0
    let step = 5
    const count = async () => {
      turns += 1
    }
    const { enqueue, set } = judgement(count, () => {
      time += step
      return new Date(time)
    })
    set('one', approval)
    await enqueue(transfers(1))
    for (step of [5, -5]) {
      turns = 0
      await enqueue(transfers(60))
      expect(turns).toBeGreaterThan(20)
    }
    step = 0
    turns = 0
    await enqueue(transfers(150))
    expect(turns).toBe(1)
  })

  it('is by the names of the catalog, whatever names the policies were stored with', async () => {
    const { enqueue, set } = judgement()
    set('one', { ...refusal, when: { rails: ['WIRE'] } })
    await expect(enqueue(transfers(1, 'wire'))).rejects.toMatchObject({ code: 'policy_refused' })
  })

  it('takes a payee that is given in full for one outside, also where the token is converted on the way', async () => {
    const { enqueue, set, written } = judgement()
    set('one', { name: 'payouts', when: { flows: ['payout'] }, approvals: [{}] })
    const address = { name: 'Ada', address: '0x7A39EB597C91DA3F10F8702982A20372C2EB6499', transferTypes: ['base'] }
    const [transfer] = transfers(1)
    if (transfer === undefined) throw new Error('There is one.')
    const destination = { address, valueType: 'SBC', transferType: 'base' }
    await enqueue([{ ...transfer, request: { ...transfer.request, destination } as unknown as NewTransfer['request'] }])
    expect(written).toEqual([{ tag: 'one', policies: ['payouts'] }])
  })

  it('is by the policies with which it began, whatever others read meanwhile', async () => {
    const gate = Promise.withResolvers<void>()
    const { enqueue, set, written } = judgement(() => gate.promise)
    set('one', approval)
    await enqueue(transfers(1))
    const many = enqueue(transfers(150))
    set('two', { ...approval, name: 'others' })
    await enqueue(transfers(1))
    gate.resolve()
    await many
    expect(written.map(({ tag, policies }) => [tag, new Set(policies)])).toEqual([
      ['one', new Set(['all'])],
      ['two', new Set(['others'])],
      ['two', new Set(['others'])],
    ])
  })

  it('asks once which of the refused are repeats, and refuses the others alone', async () => {
    const { enqueue, set, stored, asked, written } = judgement()
    set('one', refusal)
    const [wires, others] = [transfers(300, 'wire'), transfers(3)]
    for (const { idempotencyKey } of wires) stored.add(idempotencyKey)
    await enqueue([...wires, ...others])
    expect(asked).toEqual([wires.map(({ idempotencyKey }) => idempotencyKey)])
    expect(written).toHaveLength(1)
    stored.delete('key-7')
    await expect(enqueue(wires)).rejects.toMatchObject({ code: 'policy_refused', issues: [{ field: '7' }] })
    expect([asked.length, written.length]).toEqual([2, 1])
  })
})

describe('the judgement of one transfer by what the database knows', () => {
  const named: Policy = { name: 'bank', when: { counterparties: ['other'] }, hold: 'not to that one' }
  const known: StoredFacts = {
    ...usualFacts,
    payees: { ...usualFacts.payees, byAddressId: new Map([['bank', ['other']]]) },
    text: 'it is the other one',
  }

  it('is by what is usual, and again by what the insert says where that is other', async () => {
    const reads: FactQuery[] = []
    const writes: unknown[] = []
    let holding = usualFacts
    const judge = createJudgement<null>({
      backend: {
        readPolicies: async () => ({ version: 1, tag: 'one', policies: [named] }),
        async readFacts(_, query) {
          reads.push(query)
          return holding
        },
        areStored: async (_, given) => given.map(() => false),
      },
      catalog: defaultCatalog,
      runtime: { clock: { now: () => new Date(0) }, yieldToEventLoop: async () => undefined },
    })
    const enqueue = (given: readonly NewTransfer[]) =>
      judge(null, given, false, async (held, tag, expected) => {
        if (tag !== 'one') return 'stale'
        writes.push([expected?.text, held.map(({ holds }) => holds?.[0]?.policy)])
        return expected === undefined || expected.text === holding.text
          ? (held as unknown as readonly EnqueuedTransfer[])
          : { facts: holding }
      })
    await enqueue(transfers(1))
    expect(writes.splice(0)).toEqual([['', [undefined]]])
    holding = known
    await enqueue(transfers(1))
    expect(writes.splice(0)).toEqual([
      ['', [undefined]],
      ['it is the other one', ['bank']],
    ])
    expect(reads).toEqual([])
    await enqueue(transfers(2))
    expect(writes.splice(0)).toEqual([[undefined, ['bank', 'bank']]])
    expect(reads).toHaveLength(1)
  })

  it('gives up where it is other each time', async () => {
    let turn = 0
    const judge = createJudgement<null>({
      backend: {
        readPolicies: async () => ({ version: 1, tag: 'one', policies: [named] }),
        readFacts: async () => known,
        areStored: async (_, given) => given.map(() => false),
      },
      catalog: defaultCatalog,
      runtime: { clock: { now: () => new Date(0) }, yieldToEventLoop: async () => undefined },
    })
    const enqueued = judge(null, transfers(1), false, async (_, tag) => {
      turn += 1
      return tag === 'one' ? { facts: { ...known, text: String(turn) } } : 'stale'
    })
    await expect(enqueued).rejects.toMatchObject({ code: 'conflict' })
  })

  it('searches before very many a part at a time', async () => {
    const sizes: number[] = []
    const alike: Policy = { name: 'alike', when: { lookalike: {} }, hold: 'twice?' }
    const judge = createJudgement<null>({
      backend: {
        readPolicies: async () => ({ version: 1, tag: 'one', policies: [alike] }),
        async readFacts(_, { payments }) {
          sizes.push(payments.length)
          const facts = { isNewToAccount: false, isNewToHost: false, lookalike: null, payee: 'bank' }
          return { ...usualFacts, payments: new Map(payments.map(({ at }) => [at, facts])) }
        },
        areStored: async (_, given) => given.map(() => false),
      },
      catalog: defaultCatalog,
      runtime: { clock: { now: () => new Date(0) }, yieldToEventLoop: async () => undefined },
    })
    const enqueued = await judge(null, transfers(2_001), true, async (held, tag) =>
      tag === 'one' ? (held as unknown as readonly EnqueuedTransfer[]) : 'stale',
    )
    expect(sizes).toEqual([1_000, 1_000, 1])
    // All are the same payment: the first one goes, and the others look like it.
    expect(enqueued.filter((one) => !('holds' in one))).toHaveLength(1)
  })
})
