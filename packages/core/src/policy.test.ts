import { describe, expect, it } from 'vitest'
import { createCatalog, defaultCatalog } from './catalog.ts'
import type { OutlayError } from './error.ts'
import { evaluatePolicies, Policy } from './policy.ts'
import type { JudgedTransfer, PolicyConditions } from './policy-condition.ts'
import type { KnownPayees } from './policy-payee.ts'
import { TransferFlow } from './transfer-flow.ts'

const transfer: JudgedTransfer = {
  accountId: 'acme',
  request: {
    amount: { value: '10000.00', currency: 'USD' },
    source: { addressId: 'wallet', valueType: 'USDC', transferType: 'base' },
    destination: { addressId: 'payee', valueType: 'USD', transferType: 'ach_credit' },
  },
  metadata: { run: 'salaries' },
}
// A Thursday.
const facts = { now: new Date('2026-11-26T17:30:00Z'), flow: 'offramp', catalog: defaultCatalog } as const

const read = (...policies: unknown[]) => Policy.parseAll(policies, defaultCatalog)

/** The members that are refused. */
const fieldsOf = (...policies: unknown[]): readonly string[] => {
  try {
    return read(...policies).map(({ name }) => name)
  } catch (error) {
    return (error as OutlayError).issues.map(({ field }) => field).toSorted()
  }
}

const applies = (when: PolicyConditions, judged = transfer, now = facts.now): boolean => {
  const verdict = evaluatePolicies(read({ name: 'p', when, hold: 'held' }), judged, { ...facts, now })
  return verdict.refusal === undefined && verdict.holds.length > 0
}

describe('a policy', () => {
  it('is refused with every member that breaks a rule', () => {
    const when = {
      amounts: { USD: { from: 'ten', below: '-1' }, NOK: { from: '1' } },
      time: { zone: 'Berlin', from: '25:00' },
      ...{ rails: ['wire', 'pigeon'], lookalike: { days: 32 } },
    }
    const bad = [
      { name: 'A b', when, approvals: [{ count: 0, roles: [' x'] }, { count: 11 }] },
      { name: 'A b', hold: 'h', refuse: '' },
    ]
    expect(fieldsOf(...bad)).toEqual([
      ...['0.approvals.0.count', '0.approvals.0.roles.0', '0.approvals.1.count', '0.name'],
      ...['0.when.amounts.NOK', '0.when.amounts.USD.below', '0.when.amounts.USD.from', '0.when.lookalike.days'],
      ...['0.when.rails.1', '0.when.time.from', '0.when.time.zone', '1', '1.name', '1.name', '1.refuse'],
    ])
  })

  it('is refused with what else is wrong, where it has members that are not known or undefined', () => {
    const when = {
      ...{ moon: 'full', sun: 'up', currencies: undefined, metadata: null },
      amounts: { USD: { form: '1', from: 'ten' } },
      time: { zone: 'Berlin', until: '08:00' },
      lookalike: { days: 32, hours: 1 },
    }
    const bad = { name: 'A b', note: 7, when, approvals: [{ cuont: 2, count: 0 }], refuse: undefined }
    expect(fieldsOf(bad, { name: 'A b', aprovals: [{}] })).toEqual([
      ...['0.approvals.0.count', '0.approvals.0.cuont', '0.name', '0.note', '0.refuse'],
      ...['0.when.amounts.USD.form', '0.when.amounts.USD.from', '0.when.currencies'],
      ...['0.when.lookalike.days', '0.when.lookalike.hours', '0.when.metadata', '0.when.moon', '0.when.sun'],
      ...['0.when.time.until', '0.when.time.zone', '1', '1.aprovals', '1.name', '1.name'],
    ])
  })

  it('names each condition that needs indexes, also of a draft that is no policy', () => {
    const draft = [{ when: { lookalike: {}, newCounterparty: 'host' } }, { when: { rails: ['wire'] } }, { when: 7 }, {}]
    expect(Policy.findUnprepared(draft).map(({ field }) => field)).toEqual([
      '0.when.newCounterparty',
      '0.when.lookalike',
    ])
  })

  it('may have every choice that a form offers', () => {
    const { currencies, flows, rails, days, zones, newCounterparty, mostDays, mostSteps, mostApprovals } =
      Policy.choices(defaultCatalog)
    const approvals = Array(mostSteps).fill({ count: mostApprovals })
    for (const zone of zones) expect(() => read({ name: 'p', when: { time: { zone, days } }, approvals })).not.toThrow()
    const when = { currencies, flows, rails, lookalike: { days: mostDays } }
    for (const scope of newCounterparty)
      expect(read({ name: 'p', when: { ...when, newCounterparty: scope }, approvals })).toMatchObject([{ when }])
    for (const currency of currencies) read({ name: 'p', when: { amounts: { [currency]: { from: '1' } } }, hold: 'h' })
  })

  it('of a time in a zone that this process does not know, and another did, applies', () => {
    const stored: Policy = { name: 'p', when: { time: { zone: 'Mars/Olympus_Mons' } }, hold: 'h' }
    expect(evaluatePolicies([stored], transfer, facts)).toMatchObject({ holds: [{ policy: 'p' }] })
  })

  it.each<[PolicyConditions, boolean]>([
    [{}, true],
    [{ amounts: { USD: { from: '10000' } } }, true],
    [{ amounts: { USD: { from: '10000.01' } } }, false],
    [{ amounts: { USD: { below: '10000' } } }, false],
    [{ amounts: { USD: { from: '9', below: '10000.000001' } } }, true],
    [{ amounts: { USDC: { from: '10000' } } }, true],
    [{ amounts: { USDC: { from: '10000.000001' } } }, false],
    [{ amounts: { USDT: { from: '1' } } }, false],
    [{ amounts: { MXN: { from: '1' } } }, false],
    [{ amounts: { USDT: { from: '1' }, USDC: { from: '1' } } }, true],
    [{ currencies: ['USD'] }, true],
    [{ currencies: ['USDC'] }, true],
    [{ currencies: ['USDT', 'MXN'] }, false],
    [{ flows: ['onramp', 'offramp'] }, true],
    [{ flows: ['swap'] }, false],
    [{ rails: ['ach_credit'] }, true],
    [{ rails: ['base'] }, true],
    [{ rails: ['wire'] }, false],
    [{ accounts: ['acme'] }, true],
    [{ accounts: ['acme-2'] }, false],
    [{ counterparties: ['payee'] }, true],
    [{ counterparties: ['wallet'] }, false],
    [{ counterpartyInFull: true }, false],
    [{ counterpartyInFull: false }, true],
    [{ metadata: { run: 'salaries' } }, true],
    [{ metadata: { run: 'sellers' } }, false],
    [{ accounts: ['acme'], rails: ['wire'] }, false],
  ])('with the conditions %j applies: %s', (when, expected) => {
    expect(applies(when)).toBe(expected)
  })

  it('of a flow is about all flows that a transfer may be of, and refuses where one of them is refused', () => {
    const swap = {
      ...transfer,
      request: {
        ...transfer.request,
        destination: { addressId: 'payee', valueType: 'USDT', transferType: 'base' },
      },
    }
    const flow = TransferFlow.possible(swap.request, defaultCatalog)
    expect(flow).toEqual(['swap', 'payout'])
    expect(TransferFlow.possible(swap.request, defaultCatalog, { destination: 'external' })).toEqual(['payout'])
    expect(TransferFlow.possible(swap.request, defaultCatalog, { destination: 'internal' })).toEqual(['swap'])
    expect(TransferFlow.possible(transfer.request, defaultCatalog)).toEqual(['offramp'])
    const policies = read(
      { name: 'swaps', when: { flows: ['swap'] }, hold: 'h' },
      { name: 'payouts', when: { flows: ['payout'] }, approvals: [{}] },
      { name: 'offramps', when: { flows: ['offramp'] }, refuse: 'r' },
    )
    expect(evaluatePolicies(policies, swap, { ...facts, flow })).toMatchObject({
      holds: [{ policy: 'payouts' }, { policy: 'swaps' }],
    })
    const stricter = read(
      { name: 'swaps', when: { flows: ['swap'] }, hold: 'h' },
      { name: 'p', when: { flows: ['payout'] }, refuse: 'r' },
    )
    expect(evaluatePolicies(stricter, swap, { ...facts, flow })).toMatchObject({ refusal: { policy: 'p' } })
  })

  it.each<[string, NonNullable<PolicyConditions['time']>, boolean]>([
    ['2026-11-26T16:59:59Z', { zone: 'Europe/Berlin', from: '18:00', to: '08:00' }, false],
    ['2026-11-26T17:00:00Z', { zone: 'Europe/Berlin', from: '18:00', to: '08:00' }, true],
    ['2026-11-27T06:59:00Z', { zone: 'Europe/Berlin', from: '18:00', to: '08:00' }, true],
    ['2026-11-27T07:00:00Z', { zone: 'Europe/Berlin', from: '18:00', to: '08:00' }, false],
    // A night belongs to the day on which it began.
    ['2026-11-28T02:00:00Z', { zone: 'UTC', from: '18:00', to: '08:00', days: ['fri'] }, true],
    ['2026-11-27T02:00:00Z', { zone: 'UTC', from: '18:00', to: '08:00', days: ['fri'] }, false],
    ['2026-11-30T02:00:00Z', { zone: 'UTC', from: '18:00', to: '08:00', days: ['sun'] }, true],
    ['2026-11-28T23:59:00Z', { zone: 'UTC', days: ['sat', 'sun'] }, true],
    // It is Monday there already.
    ['2026-11-29T23:59:00Z', { zone: 'Asia/Tokyo', days: ['sat', 'sun'] }, false],
    // Summer time is two hours ahead.
    ['2026-07-01T16:00:00Z', { zone: 'Europe/Berlin', from: '18:00', to: '19:00' }, true],
    ['2026-07-01T00:00:00Z', { zone: 'UTC', from: '00:00', to: '00:01' }, true],
  ])('at %s with the time %j applies: %s', (now, time, expected) => {
    expect(applies({ time }, transfer, new Date(now))).toBe(expected)
  })

  it.each(['USD', 'USDC'])('sees the same money whatever its amount is stated in, such as %s', (currency) => {
    const stated = { ...transfer, request: { ...transfer.request, amount: { value: '10000', currency } } }
    for (const named of ['USD', 'USDC', 'usd']) {
      expect(applies({ amounts: { [named]: { from: '10000.00' } } }, stated)).toBe(true)
      expect(applies({ amounts: { [named]: { from: '10000.01' } } }, stated)).toBe(false)
      expect(applies({ currencies: [named] }, stated)).toBe(true)
    }
  })

  it('about an amount that is not known, as of the other side of a quote, applies', () => {
    const destination = { addressId: 'payee', valueType: 'MXN', transferType: 'spei' }
    const quoted = { ...transfer, request: { ...transfer.request, destination, quoteId: 'q' } }
    expect(applies({ amounts: { MXN: { from: '900000' } } }, quoted)).toBe(true)
    expect(applies({ amounts: { USD: { from: '900000' } } }, quoted)).toBe(false)
  })

  it('about a counterparty by its id is about the same details in full, and about those that it cannot compare', () => {
    const address = { kind: 'bank_account', name: 'Ada', lastFour: '6789', transferTypes: ['ach_credit'] } as const
    const leg = { valueType: 'USD', transferType: 'ach_credit' }
    const inFull = { ...leg, address: { ...address, fingerprint: 'f' } }
    const pay = (
      { payee, ...destination }: JudgedTransfer['request']['destination'] & { readonly payee?: string },
      known: Partial<KnownPayees> = {},
    ) => {
      const judged = { ...transfer, request: { ...transfer.request, destination }, payee }
      const nothing = {
        byAddressId: new Map(),
        byFingerprint: new Map(),
        byPayee: new Map(),
        unknown: new Set<string>(),
      }
      const policies = read({ name: 'p', when: { counterparties: ['ada', 'eve'] }, hold: 'held' })
      const verdict = evaluatePolicies(policies, judged, { ...facts, payees: { ...nothing, ...known } })
      return verdict.refusal === undefined && verdict.holds.length > 0
    }
    const named = { ...inFull, payee: 'p' }
    expect(pay(named)).toBe(false)
    expect(pay(named, { byPayee: new Map([['p', ['bob', 'ada']]]) })).toBe(true)
    expect(pay(named, { byPayee: new Map([['p', ['bob']]]) })).toBe(false)
    expect(pay(named, { byFingerprint: new Map([['f', ['ada']]]) })).toBe(true)
    expect(pay(named, { unknown: new Set(['eve']) })).toBe(true)
    expect(pay(named, { unknown: new Set(['bob']) })).toBe(false)
    // Nobody has said who it is.
    expect(pay(inFull)).toBe(true)
    // Registered since, under an id of another gateway.
    expect(pay({ ...inFull, addressId: 'bob' }, { byFingerprint: new Map([['f', ['ada']]]) })).toBe(true)
    expect(pay({ ...inFull, addressId: 'bob' }, { unknown: new Set(['eve']) })).toBe(false)
    expect(pay({ ...leg, addressId: 'ada' })).toBe(true)
    expect(pay({ ...leg, addressId: 'bob' }, { byAddressId: new Map([['bob', ['ada']]]) })).toBe(true)
    expect(pay({ ...leg, addressId: 'bob' }, { byAddressId: new Map([['kim', ['ada']]]) })).toBe(false)
    const verdict = evaluatePolicies(
      [{ name: 'p', when: { counterparties: ['ada'] }, hold: 'h' }],
      {
        ...transfer,
        request: { ...transfer.request, destination: inFull },
        payee: 'p',
      },
      facts,
    )
    expect(verdict).toMatchObject({ holds: [{ policy: 'p' }] })
  })

  it('that was stored before a currency or a rail was renamed is about it under its new name', () => {
    const before = createCatalog({
      valueTypes: [{ name: 'EURX', kind: 'token', scale: 6 }],
      transferTypes: [{ name: 'faster', family: 'bank', valueTypes: ['USD'], expectedMs: 1 }],
    })
    const after = createCatalog({
      valueTypes: [{ name: 'eurx', kind: 'token', scale: 6 }],
      transferTypes: [
        { name: 'faster_payments', aliases: ['faster'], family: 'bank', valueTypes: ['USD'], expectedMs: 1 },
      ],
    })
    const pay = (valueType: string, transferType: string): JudgedTransfer => ({
      ...transfer,
      request: {
        amount: { value: '10', currency: valueType },
        source: { addressId: 'wallet', valueType, transferType: 'base' },
        destination: { addressId: 'payee', valueType, transferType },
      },
    })
    const conditions: PolicyConditions[] = [
      { amounts: { EURX: { from: '10' } } },
      { currencies: ['EURX'] },
      { rails: ['faster'] },
    ]
    for (const when of conditions) {
      const policies = Policy.parseAll([{ name: 'p', when, hold: 'held' }], before)
      // As requests name them now, and as one was stored before.
      for (const judged of [pay('eurx', 'faster_payments'), pay('EURX', 'faster')])
        expect(evaluatePolicies(policies, judged, { ...facts, catalog: after })).toMatchObject({ holds: [{}] })
      expect(evaluatePolicies(policies, transfer, { ...facts, catalog: after })).toEqual({ holds: [] })
    }
    const unknown = Policy.readStored([{ name: 'p', when: { rails: ['faster'] }, hold: 'h' }], defaultCatalog)
    expect(unknown).toEqual({ unknown: expect.stringContaining('0.when.rails.0') })
  })

  it('of a time applies to what is enqueued then, and to what may not be sent before then', () => {
    const time = { zone: 'UTC', from: '20:00', to: '06:00' }
    const at = (now: string, notBefore: string | null) => applies({ time }, { ...transfer, notBefore }, new Date(now))
    const [day, night] = ['2026-11-26T14:00:00Z', '2026-11-26T22:00:00Z']
    expect(at(day, null)).toBe(false)
    expect(at(day, night)).toBe(true)
    expect(at(night, '2026-11-27T10:00:00Z')).toBe(true)
    expect(at(day, '2026-11-27T10:00:00Z')).toBe(false)
    // A moment that has passed is none: it is sent at once.
    expect(at(day, '2026-11-25T22:00:00Z')).toBe(false)
  })

  it('refuses before others hold, and all that apply hold', () => {
    const holding = [
      { name: 'z', approvals: [{ count: 2 }], inOrder: true },
      { name: 'b', hold: 'too much' },
      { name: 'a', approvals: [{}] },
    ]
    expect(evaluatePolicies(read(...holding), transfer, facts)).toMatchObject({
      holds: [
        { name: 'approval', policy: 'a', requirement: { steps: [{}], inOrder: false } },
        { name: 'approval', policy: 'z', requirement: { steps: [{ count: 2 }], inOrder: true } },
        { name: 'limit', policy: 'b', why: 'too much' },
      ],
    })
    const refusing = [...holding, { name: 'no', when: { rails: ['ach_credit'] }, refuse: 'not by ACH' }]
    expect(evaluatePolicies(read(...refusing), transfer, facts)).toEqual({
      refusal: { policy: 'no', why: 'not by ACH' },
    })
  })

  it('names what it is about as requests do', () => {
    const [policy] = read({ name: 'p', when: { amounts: { usd: { from: '1' } }, rails: ['ACH_CREDIT'] }, hold: 'h' })
    expect(policy?.when).toMatchObject({ amounts: { USD: { from: '1' } }, rails: ['ach_credit'] })
  })

  it.each<[unknown, string]>([
    [{ hold: 'h' }, '0.name'],
    [{ name: 'P', hold: 'h' }, '0.name'],
    [{ name: 'p' }, '0'],
    [{ name: 'p', hold: 'h', refuse: 'r' }, '0'],
    [{ name: 'p', hold: '' }, '0.hold'],
    [{ name: 'p', hold: 'h', inOrder: true }, '0.inOrder'],
    [{ name: 'p', holds: 'h' }, '0.holds'],
    [{ name: 'p', approvals: [] }, '0.approvals'],
    [{ name: 'p', approvals: [{ count: 0 }] }, '0.approvals.0.count'],
    [{ name: 'p', approvals: [{ roles: [] }] }, '0.approvals.0.roles'],
    [{ name: 'p', approvals: [{ role: 'cfo' }] }, '0.approvals.0.role'],
    [{ name: 'p', approvals: [{ roles: undefined }] }, '0.approvals.0.roles'],
    [{ name: 'p', approvals: [{ count: undefined }] }, '0.approvals.0.count'],
    [{ name: 'p', approvals: [{ roles: Array(1) }] }, '0.approvals.0.roles.0'],
    [{ name: 'p', approvals: [{ roles: ['cfo '] }] }, '0.approvals.0.roles.0'],
    [{ name: 'p', approvals: [['cfo']] }, '0.approvals.0'],
    [{ name: 'p', approvals: [new Map([['roles', ['cfo']]])] }, '0.approvals.0'],
    [{ name: 'p', hold: 'h', when: undefined }, '0.when'],
    [{ name: 'p', hold: 'h', when: null }, '0.when'],
    [{ name: 'p', hold: 'h', when: [] }, '0.when'],
    [{ name: 'p', hold: 'h', when: { accounts: ['acct 42'] } }, '0.when.accounts.0'],
    [{ name: 'p', hold: 'h', when: { accounts: ['acct_42', 'acct_43 '] } }, '0.when.accounts.1'],
    [{ name: 'p', hold: 'h', when: { counterparties: [''] } }, '0.when.counterparties.0'],
    [{ name: 'p', hold: 'h', when: { time: { zone: 'UTC', days: undefined } } }, '0.when.time.days'],
    [{ name: 'p', hold: 'h', when: { amounts: { USD: { from: undefined, below: '2' } } } }, '0.when.amounts.USD.from'],
    [{ name: 'p', hold: 'h', when: { amounts: { USD: { form: '2' } } } }, '0.when.amounts.USD.form'],
    [{ name: 'p', hold: 'h', when: { amounts: { USD: { below: '0.00' } } } }, '0.when.amounts.USD'],
    [{ name: 'p', hold: 'h', when: { amounts: { MXN: { from: '10000.001' } } } }, '0.when.amounts.MXN.from'],
    [{ name: 'p', hold: 'h', when: { amount: {} } }, '0.when.amount'],
    [{ name: 'p', hold: 'h', when: { amounts: {} } }, '0.when.amounts'],
    [{ name: 'p', hold: 'h', when: { amounts: { USD: {} } } }, '0.when.amounts.USD'],
    [{ name: 'p', hold: 'h', when: { amounts: { USD: { from: 10_000 } } } }, '0.when.amounts.USD.from'],
    [{ name: 'p', hold: 'h', when: { amounts: { USD: { from: '2', below: '2.0' } } } }, '0.when.amounts.USD'],
    [{ name: 'p', hold: 'h', when: { amounts: { DOLLARS: { from: '2' } } } }, '0.when.amounts.DOLLARS'],
    [{ name: 'p', hold: 'h', when: { accounts: undefined } }, '0.when.accounts'],
    [{ name: 'p', hold: 'h', when: { accounts: [] } }, '0.when.accounts'],
    [{ name: 'p', hold: 'h', when: { metadata: {} } }, '0.when.metadata'],
    [{ name: 'p', hold: 'h', when: { time: { zone: 'Berlin' } } }, '0.when.time.zone'],
    [{ name: 'p', hold: 'h', when: { time: { zone: '+01:00' } } }, '0.when.time.zone'],
    [{ name: 'p', hold: 'h', when: { time: { zone: 'UTC', from: '8:00' } } }, '0.when.time.from'],
    [{ name: 'p', hold: 'h', when: { time: { zone: 'UTC', from: '08:00', to: '08:00' } } }, '0.when.time.to'],
  ])('%j is refused at %s', (policy, field) => {
    expect(() => read(policy)).toThrow(expect.objectContaining({ code: 'invalid_request', field }))
  })

  it('about a currency that nothing moves is refused, since it would never match', () => {
    const catalog = createCatalog({ valueTypes: [{ name: 'XAU', kind: 'fiat', scale: 2 }] })
    const set = (when: PolicyConditions) => () => Policy.parseAll([{ name: 'p', when, hold: 'h' }], catalog)
    expect(set({ amounts: { XAU: { from: '1' } } })).toThrow(expect.objectContaining({ field: '0.when.amounts.XAU' }))
    expect(set({ currencies: ['USD', 'XAU'] })).toThrow(expect.objectContaining({ field: '0.when.currencies.1' }))
  })

  it.each<[unknown, string | undefined]>([
    [{ name: 'p', hold: 'h', when: { accounts: ['acct 42'], amounts: { USD: { from: '0.0000001' } } } }, undefined],
    [{ name: 'p', hold: 'h', when: { time: { zone: 'Mars/Olympus_Mons' } } }, undefined],
    [{ name: 'p', approvals: [{ count: 2, roles: ['cfo '] }], inOrder: true }, undefined],
    [{ name: 'p', notify: 'anna' }, '0.notify'],
    [{ name: 'p', hold: 'h', from: '2027-01-01' }, '0.from'],
    [{ name: 'p', hold: 'h', when: { velocity: { perDay: 3 } } }, '0.when.velocity'],
    [{ name: 'p', hold: 'h', when: { flows: ['bridge'] } }, '0.when.flows.0'],
    [{ name: 'p', hold: 'h', when: { amounts: { USD: { from: '1', perDay: true } } } }, '0.when.amounts.USD.perDay'],
    [{ name: 'p', hold: 'h', when: { amounts: { EUR: { from: '1' } } } }, '0.when.amounts.EUR'],
    [{ name: 'p', hold: 'h', when: { counterparties: [{ fingerprint: 'f' }] } }, '0.when.counterparties.0'],
    [{ name: 'p', approvals: [{ count: 2, notRoles: ['cfo'] }] }, '0.approvals.0.notRoles'],
    [{ name: 'p', approvals: [{ count: 20 }] }, '0.approvals.0.count'],
    [{ name: 'p' }, '0'],
  ])('that is stored as %j has what this release does not know: %s', (stored, field) => {
    const { unknown } = Policy.readStored([stored], defaultCatalog)
    expect(unknown?.split(':')[0]).toBe(field)
  })

  it.each<[object]>([
    [{ name: 'p', notify: 'anna' }],
    [{ name: 'p', hold: 'h', until: '2027-01-01' }],
    [{ name: 'p', hold: 'h', when: { rails: ['wire'], velocity: {} } }],
    [{ name: 'p' }],
  ])('that is stored as %j is never passed over', (stored) => {
    const judge = () => evaluatePolicies([stored as Policy], transfer, facts)
    expect(judge).toThrow(expect.objectContaining({ code: 'policy_unknown' }))
  })

  it('has a name of its own', () => {
    const one = { name: 'p', hold: 'h' }
    expect(() => read(one, one)).toThrow(expect.objectContaining({ field: '1.name' }))
  })
})
