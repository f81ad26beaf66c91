import { waitUntil } from '@outlay/testing'
import { Validator } from '@seriousme/openapi-schema-validator'
import { describe, expect, it } from 'vitest'
import { admin, consoleHost, send } from '../test/host.ts'

interface Shown {
  readonly transfer: { readonly id: string; readonly stage: string; readonly status: string }
  readonly changed: boolean
}

describe('the console', async () => {
  const host = await consoleHost()
  const { engine, call, enqueue, commit } = host
  const reason = 'it is odd'
  const body = { reason }
  const records = async () =>
    (await engine.audit.list()).map(({ command, actor, reason: why }) => [command, actor, why])

  it('has a valid document', async () => {
    const { json } = await call('GET /openapi.json')
    expect(await new Validator().validate(json)).toMatchObject({ valid: true })
  })

  it('lists transfers in pages, and finds them by filters and by key', async () => {
    const made = []
    for (let at = 0; at < 5; at += 1)
      made.push(await enqueue({ idempotencyKey: `key-${at}`, metadata: { order: String(at % 2) } }))
    const first = await call<{ transfers: { id: string }[]; nextCursor: string }>('GET /transfers?limit=2')
    const second = await call<{ transfers: { id: string }[]; nextCursor: string | null }>(
      `GET /transfers?limit=3&cursor=${first.json.nextCursor}`,
    )
    const ids = [...first.json.transfers, ...second.json.transfers].map(({ id }) => id)
    expect(ids).toEqual(made.map(({ id }) => id).toReversed())
    const odd = await call<{ transfers: { id: string }[] }>('GET /transfers?metadata[order]=1&stage=queued')
    expect(odd.json.transfers.map(({ id }) => id)).toEqual([made[3]?.id, made[1]?.id])
    const found = await call<Shown>('GET /transfers/by-key?accountId=acme&idempotencyKey=key-2')
    expect(found.json.transfer.id).toBe(made[2]?.id)
    const { json } = await call('GET /transfers/totals?accountId=acme')
    expect(json).toEqual({ totals: [{ currency: 'USD', status: 'pending', count: 5, amount: '62.50' }] })
  })

  it('refuses a currency that no catalog has and no transfer is in, with the choices', async () => {
    await enqueue()
    for (const path of ['/transfers', '/transfers/totals']) {
      const { status, json } = await call<{ code: string; detail: string }>(`GET ${path}?currency=EURO`)
      expect([status, json.code]).toEqual([422, 'unknown_value_type'])
      expect(json.detail).toContain('which has USD, MXN')
      expect((await call(`GET ${path}?currency=MXN`)).status).toBe(200)
    }
  })

  it('holds, releases and cancels, each with its entry in the audit', async () => {
    const { id } = await enqueue()
    expect((await call<Shown>(`POST /transfers/${id}/hold`, { body })).json).toMatchObject({
      changed: true,
      transfer: { stage: 'held' },
      held: { holds: [{ name: 'operator', actor: 'ada', why: reason }] },
    })
    expect((await call<Shown>(`POST /transfers/${id}/hold`, { body })).json.changed).toBe(false)
    expect((await call<Shown>(`POST /transfers/${id}/release`, { body })).json.transfer.stage).toBe('queued')
    expect((await call<Shown>(`POST /transfers/${id}/cancel`, { body })).json.transfer.status).toBe('canceled')
    expect((await call(`POST /transfers/${id}/cancel`, { body })).status).toBe(409)
    expect(await records()).toEqual([
      ['transfers.cancel', 'ada', reason],
      ['transfers.release', 'ada', reason],
      ['transfers.hold', 'ada', reason],
    ])
    const timeline = await call<{ audit: unknown[]; events: { type: string }[] }>(`GET /transfers/${id}`)
    expect(timeline.json.audit).toHaveLength(3)
    expect(timeline.json.events.map(({ type }) => type)).toContain('transfer.canceled')
    expect((await call(`GET /transfers/${id}/proof`)).json).toMatchObject({ conclusion: 'no_effect' })
  })

  it('resubmits as who asks for it, once, and writes that down', async () => {
    const { id } = await enqueue()
    await call(`POST /transfers/${id}/cancel`, { body })
    const again = await call<Shown & { reused: boolean }>(`POST /transfers/${id}/resubmit`, {
      body: { ...body, amount: '13.00' },
    })
    expect(again.json).toMatchObject({ reused: false, transfer: { amount: { value: '13.00' }, resubmissionOf: id } })
    expect(await engine.transfers.holds(again.json.transfer.id)).toMatchObject({ createdBy: 'ada' })
    const twice = await call<{ reused: boolean }>(`POST /transfers/${id}/resubmit`, {
      body: { ...body, amount: '13.00' },
    })
    expect(twice.json.reused).toBe(true)
    expect((await records()).filter(([command]) => command === 'transfers.resubmit')).toHaveLength(1)
  })

  it('resolves a blocked transfer, and asks the service about the id first', async () => {
    const { id } = await enqueue()
    await host.pool.query(`update outlay.transfer set stage = 'blocked', reason = 'outcome_unknown' where id = $1`, [
      id,
    ])
    const wrong = await call(`POST /transfers/${id}/resolve`, { body: { ...body, remoteId: 'nobody-has-it' } })
    expect(wrong.status).toBe(409)
    expect((await call(`POST /transfers/${id}/resolve`, { body })).status).toBe(422)
    const right = await call<Shown>(`POST /transfers/${id}/resolve`, { body: { ...body, notPaid: true } })
    expect(right.json.transfer).toMatchObject({ stage: 'settled', status: 'failed' })
    expect((await records())[0]).toEqual(['transfers.resolve', 'ada', reason])
  })

  it('pauses, limits, stops and starts accounts', async () => {
    await enqueue()
    for (const verb of ['pause', 'resume', 'stop', 'start'])
      expect((await call(`POST /accounts/acme/${verb}`, { body })).json, verb).toMatchObject({ changed: true })
    for (const verb of ['resume', 'start', 'retry-credentials', 'funds-arrived'])
      expect((await call(`POST /accounts/acme/${verb}`, { body })).json, verb).toMatchObject({ changed: false })
    const limits = await call('PATCH /accounts/acme/limits', { body: { ...body, ratePerSecond: 5, weight: 2 } })
    expect(limits.status).toBe(200)
    expect((await call('PATCH /accounts/acme/limits', { body: { ...body, weight: -1 } })).json).toMatchObject({
      status: 422,
      errors: [{ source: { pointer: '/weight' } }],
    })
    expect((await call('GET /accounts/acme')).json).toMatchObject({
      ...{ accountId: 'acme', ratePerSecond: 5, weight: 2, paused: false, stopped: null },
      backlog: [{ queued: 1 }],
    })
    expect((await call('GET /accounts')).json).toMatchObject({ accounts: [{ accountId: 'acme', queued: 1 }] })
    expect((await records()).map(([command]) => command)).toEqual([
      ...['accounts.configure', 'stops.end', 'stops.add', 'accounts.resume', 'accounts.pause'],
    ])
  })

  it('closes, pauses, resumes and cancels batches, and lists them in pages', async () => {
    const batch = await commit((tx) => engine.batches.create(tx, { accountId: 'acme' }))
    const other = await commit((tx) => engine.batches.create(tx))
    await enqueue({ batchId: batch.id })
    for (const verb of ['pause', 'resume', 'close'])
      expect((await call(`POST /batches/${batch.id}/${verb}`, { body })).json, verb).toMatchObject({ changed: true })
    expect((await call(`POST /batches/${batch.id}/cancel`, { body })).json).toMatchObject({
      ...{ result: { canceled: 1, unended: 0 }, batch: { counts: { canceled: 1 } } },
    })
    const page = await call<{ batches: { id: string }[]; nextCursor: string }>('GET /batches?limit=1')
    expect(page.json.batches.map(({ id }) => id)).toEqual([other.id])
    const next = await call<{ batches: { id: string }[] }>(`GET /batches?limit=1&cursor=${page.json.nextCursor}`)
    expect(next.json).toMatchObject({ batches: [{ id: batch.id }], nextCursor: null })
    expect((await call(`GET /batches/${batch.id}`)).json).toMatchObject({ accountId: 'acme', state: 'closed' })
    expect(await records()).toEqual(
      ['cancel', 'close', 'resume', 'pause'].map((verb) => [`batches.${verb}`, 'ada', reason]),
    )
  })

  it('sets policies, of the expected version only, and shows earlier ones', async () => {
    const policies = [{ name: 'four-eyes', approvals: [{}] }]
    const set = await call('PUT /policies', { body: { ...body, expectedVersion: 0, policies } })
    expect(set.json).toMatchObject({ version: 1, policies, actor: 'ada' })
    const late = await call('PUT /policies', { body: { ...body, expectedVersion: 0, policies } })
    expect(late.json).toMatchObject({ status: 409, errors: [{ source: { pointer: '/expectedVersion' } }] })
    const wrong = await call('PUT /policies', { body: { ...body, expectedVersion: 1, policies: [{ name: 'x' }] } })
    expect(wrong.json).toMatchObject({ status: 422, errors: [{ source: { pointer: '/policies/0' } }] })
    const limits = [{ name: 'x', most: { USD: '1' }, span: 'day', zone: 'Nowhere' }]
    const limit = await call('PUT /limits', { body: { ...body, expectedVersion: 0, limits } })
    expect(limit.json).toMatchObject({ status: 422, errors: [{ source: { pointer: '/limits/0/zone' } }] })
    expect((await call('GET /policies?version=0')).json).toMatchObject({ version: 0, policies: [] })
    expect((await call('GET /policies?version=7')).status).toBe(404)
    expect(await records()).toEqual([['policies.set', 'ada', reason]])
  })

  it('keeps what it does not show of policies where they are given back, and refuses it elsewhere', async () => {
    const said = 'ask about account 9876543210987'
    const stored = [
      { name: 'odd', when: { metadata: { bank: '1234567890', run: 'a' } }, hold: said },
      { name: 'no', refuse: said },
    ]
    await commit((tx) => engine.policies.set(tx, stored, { actor: 'o', reason }))
    const { json } = await call<{ policies: Record<string, unknown>[] }>('GET /policies')
    expect(JSON.stringify(json)).not.toMatch(/\d{7}/)
    const changed = json.policies.map((one) => (one['name'] === 'no' ? { ...one, when: { accounts: ['acme'] } } : one))
    const set = await call('PUT /policies', { body: { ...body, expectedVersion: 1, policies: changed } })
    expect([set.status, set.text.includes('9876543210987')]).toEqual([200, false])
    const { policies } = (await engine.policies.get()) ?? { policies: [] }
    expect(policies).toEqual([stored[0], { ...stored[1], when: { accounts: ['acme'] } }])
    // Of another policy, and in another text.
    for (const wrong of [
      { name: 'new', refuse: 'ask about account [hidden]' },
      { name: 'no', refuse: 'call account [hidden]' },
      { name: 'no', hold: 'ask about account [hidden]' },
    ]) {
      const refused = await call('PUT /policies', { body: { ...body, expectedVersion: 2, policies: [wrong] } })
      const pointer = `/policies/0/${'hold' in wrong ? 'hold' : 'refuse'}`
      expect(refused.json).toMatchObject({ status: 422, errors: [{ source: { pointer } }] })
    }
    expect(await engine.policies.get()).toMatchObject({ version: 2 })
  })

  it('writes the reason of a resubmission into the audit', async () => {
    const { id } = await enqueue()
    await commit((tx) => engine.transfers.cancel(tx, id))
    expect((await call(`POST /transfers/${id}/resubmit`, { body })).status).toBe(200)
    const [record] = await engine.audit.list({ transferId: id, command: 'transfers.resubmit' })
    expect(record).toMatchObject({ actor: 'ada', reason, before: { amount: { value: '12.50' } } })
  })

  it('says what waits for approval, and whether that of the person would count', async () => {
    await commit((tx) =>
      engine.policies.set(tx, [{ name: 'four-eyes', approvals: [{ roles: ['finance'] }] }], { actor: 'o', reason }),
    )
    const { id } = await enqueue({ createdBy: 'carl' })
    const refusalOf = async (actor: string, roles: readonly string[]) => {
      const as = { ...admin, actor, roles }
      const { json } = await call<{ approvals: { transfer: { id: string }; refusal: string | null }[] }>(
        'GET /approvals',
        { as },
      )
      return json.approvals.map(({ transfer, refusal }) => [transfer.id, refusal])
    }
    expect(await refusalOf('ada', ['finance'])).toEqual([[id, null]])
    expect(await refusalOf('ada', [])).toEqual([[id, 'role']])
    expect(await refusalOf('Carl', ['finance'])).toEqual([[id, 'creator']])
    const other = { actor: 'rita', permissions: { read: ['other'] } }
    expect((await call('GET /approvals', { as: other })).json).toEqual({ approvals: [], nextCursor: null })
  })

  it('finds and adds up what was paid to somebody, by the id of an address and by a name, and by amount', async () => {
    const bank = {
      ...{ owner: 'Ana Lima', name: 'Ana Lima', accountNumber: '12345678', routingNumber: '021000021' },
      ...{ accountType: 'checking' as const, transferTypes: ['ach_credit' as const] },
      bankAddress: { streetLine1: '1 Main St', city: 'Springfield', state: 'IL', zip: '62701' },
      beneficiaryAddress: { streetLine1: '2 Oak St', city: 'Springfield', state: 'IL', zip: '62701' },
    }
    await enqueue()
    await enqueue({ destination: { address: bank, valueType: 'USD', transferType: 'ach_credit' } as never })
    for (const query of ['payee=ana%20lima', 'payee=01J0000000000000000000000B', 'amount=12.5&payee=Ana%20Lima']) {
      expect((await call<{ transfers: unknown[] }>(`GET /transfers?${query}`)).json.transfers, query).toHaveLength(1)
      expect((await call(`GET /transfers/totals?${query}`)).json, query).toMatchObject({
        totals: [{ count: 1, amount: expect.stringMatching(/^12\.50?$/) }],
      })
    }
    expect((await call('GET /transfers?amount=13')).json).toMatchObject({ transfers: [] })
    expect((await call('GET /transfers?amount=1,000')).status).toBe(422)
  })

  it('tries policies with past transfers, and sets none', async () => {
    const { id } = await enqueue()
    const large = await enqueue({ amount: { value: '20000', currency: 'USD' } })
    const policies = [{ name: 'large', when: { amounts: { USD: { from: '10000' } } }, approvals: [{}] }]
    expect((await call('POST /policies/trial', { body: { policies } })).json).toMatchObject({
      ...{ tried: 2, free: 1, unjudged: 0 },
      policies: [{ policy: 'large', verdict: 'approval', count: 1, sample: [large.id] }],
      // An enqueue like it is refused: nobody would know who may not approve it.
      uncreated: { count: 1, sample: [large.id] },
    })
    await enqueue({ amount: { value: '20000', currency: 'USD' }, createdBy: 'carl' })
    expect((await call('POST /policies/trial', { body: { policies } })).json).toMatchObject({
      policies: [{ count: 2 }],
      uncreated: { count: 1, sample: [large.id] },
    })
    const asking = [...policies, { name: 'new', when: { newCounterparty: 'host' }, hold: 'new' }]
    expect((await call('POST /policies/trial', { body: { policies: asking } })).json).toMatchObject({
      ...{ tried: 3, free: 1, untried: ['new'], policies: [{ policy: 'large' }] },
    })
    const wrong = await call('POST /policies/trial', { body: { policies: [{ name: 'x' }] } })
    expect(wrong.json).toMatchObject({ status: 422, errors: [{ source: { pointer: '/policies/0' } }] })
    expect(await engine.policies.get()).toMatchObject({ version: 0 })
    expect(await engine.transfers.get(id)).toMatchObject({ stage: 'queued' })
  })

  it('lets one of two approvers at once approve, and writes one approval', async () => {
    await commit((tx) => engine.policies.set(tx, [{ name: 'four-eyes', approvals: [{}] }], { actor: 'o', reason }))
    const { id } = await enqueue({ createdBy: 'carl' })
    const people = ['anna', 'bert'].map((actor) => ({ ...admin, actor }))
    const answers = await Promise.all(people.map((as) => call(`POST /transfers/${id}/approve`, { as })))
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409])
    expect(await engine.transfers.holds(id)).toMatchObject({ holds: [], approvals: [{}] })
    expect((await records()).filter(([command]) => command === 'transfers.approve')).toHaveLength(1)
  })

  it('does not let the creator approve, whatever the body says', async () => {
    await commit((tx) => engine.policies.set(tx, [{ name: 'four-eyes', approvals: [{}] }], { actor: 'o', reason }))
    const { id } = await enqueue({ createdBy: 'ada' })
    expect((await call(`POST /transfers/${id}/approve`)).json).toMatchObject({ status: 403, code: 'approval_refused' })
    const other = await call(`POST /transfers/${id}/approve`, { body: { actor: 'bert' } })
    expect(other.json).toMatchObject({ status: 422, errors: [{ source: { pointer: '/actor' } }] })
    expect((await call<Shown>(`POST /transfers/${id}/reject`, { body })).json.transfer.status).toBe('canceled')
  })

  it('shows backlog, sending, stuck transfers, the doctor, and who asks', async () => {
    await enqueue()
    expect((await call('GET /backlog')).json).toMatchObject({ queued: 1, workers: { listening: 0 } })
    const stop = { ...body, scope: 'all' }
    expect((await call('POST /stops/add', { body: stop })).json).toEqual({ changed: true, stop: null })
    expect((await call('GET /sending')).json).toMatchObject({ stops: [{ scope: 'all', actor: 'ada', reason }] })
    const doctor = await call<{ findings: { code: string }[] }>('GET /doctor')
    expect(doctor.json.findings.map(({ code }) => code)).toContain('sending_stopped')
    expect((await call('POST /stops/end', { body: stop })).json).toEqual({ changed: true, stop: null })
    expect((await call('POST /stops/add', { body: { ...body, scope: 'gateway', name: 'defualt' } })).status).toBe(422)
    expect((await call('GET /transfers/stuck')).status).toBe(200)
    expect((await call('GET /me')).json).toEqual(admin)
    expect((await records()).map(([command]) => command)).toEqual(['stops.end', 'stops.add'])
  })

  it('shows subscriptions and dead letters, replays and removes them', async () => {
    const other = host.again()
    other.subscribe('books', ['transfer.enqueued'], async () => undefined)
    await other.start()
    await other.stop()
    await host.pool.query(
      `update outlay.subscription set attended_at = null, attended = '{}', created_at = now() - interval '1 hour'`,
    )
    const { id } = await enqueue()
    await host.pool.query(`update outlay.delivery set dead = true, ready = false, last_error = 'no', failures = 9`)
    expect((await call('GET /subscriptions')).json).toMatchObject({
      subscriptions: [{ name: 'books', deadLetters: 1 }],
    })
    expect((await call('GET /dead-letters')).json).toMatchObject({ deadLetters: [{ transferId: id, lastError: 'no' }] })
    expect((await call('POST /subscriptions/boks/replay', { body })).status).toBe(404)
    expect((await call('POST /subscriptions/books/replay', { body })).json).toEqual({ replayed: 1 })
    expect((await call('POST /subscriptions/books/remove', { body })).status).toBe(409)
    const removed = await call('POST /subscriptions/books/remove', { body: { ...body, discard: true } })
    expect(removed.json).toEqual({ removed: true, discarded: 1 })
    expect((await records()).map(([command]) => command)).toEqual(['subscriptions.remove', 'subscriptions.replay'])
  })

  it('decides about a return that is held, by the identity that the timeline shows', async () => {
    const { id } = await enqueue()
    await engine.start()
    const done = await waitUntil(async () => {
      const found = await engine.transfers.get(id)
      return found?.status === 'complete' ? found : undefined
    })
    await engine.stop()
    const returns = [{ code: 'R10', amount: null, occurredAt: '2026-01-09T09:00:00.000Z' }]
    const observed = { remoteId: done.remoteId ?? '', status: 'complete' as const, failure: null, returns }
    await commit((tx) => engine.transfers.observe(tx, 'acme', [observed]))
    const timeline = await call<{ returns: { identity: string }[] }>(`GET /transfers/${id}`)
    const path = `POST /transfers/${id}/resolve-return`
    expect((await call(path, { body: { ...body, identity: 'none', dismissed: true } })).status).toBe(409)
    const identity = timeline.json.returns[0]?.identity
    expect((await call(path, { body: { ...body, identity, amount: '4.50' } })).status).toBe(200)
    const { json } = await call(`GET /transfers/${id}`)
    expect(json).toMatchObject({ returns: [{ amount: '4.50', resolvedBy: 'ada', resolutionNote: reason }] })
    expect(await records()).toEqual([['transfers.resolve_return', 'ada', reason]])
  })

  it('approves a batch for who did not create it, all of it or nothing', async () => {
    await commit((tx) => engine.policies.set(tx, [{ name: 'four-eyes', approvals: [{}] }], { actor: 'o', reason }))
    const batch = await commit((tx) => engine.batches.create(tx, { accountId: 'acme' }))
    await enqueue({ batchId: batch.id, createdBy: 'carl' })
    const path = `POST /batches/${batch.id}/approve`
    const review = async () => (await call<{ digest: string }>(`GET /batches/${batch.id}/review`)).json
    const early = await review()
    expect(early).toMatchObject({ transfers: 1 })
    await enqueue({ batchId: batch.id, createdBy: 'ada' })
    const as = { actor: 'bert', permissions: { approve: ['acme'] } }
    const changed = await call(path, { as, body: { digest: early.digest } })
    expect(changed.json).toMatchObject({ status: 409, code: 'conflict' })
    const seen = { digest: (await review()).digest }
    expect((await call(path, { body: seen })).json).toMatchObject({ status: 403, code: 'approval_refused' })
    expect((await engine.backlog()).held).toBe(2)
    expect((await call(path, { as, body: seen })).json).toMatchObject({ result: { approved: 2, released: 2 } })
    expect((await records()).slice(0, 3)).toEqual([
      ['batches.approve', 'bert', null],
      ['transfers.approve', 'bert', null],
      ['transfers.approve', 'bert', null],
    ])
  })

  it('pages through the audit, by transfer, actor and command', async () => {
    const { id } = await enqueue()
    for (const verb of ['hold', 'release', 'cancel']) await call(`POST /transfers/${id}/${verb}`, { body })
    const page = await call<{ records: { command: string }[]; nextCursor: string }>('GET /audit?limit=2')
    expect(page.json.records.map(({ command }) => command)).toEqual(['transfers.cancel', 'transfers.release'])
    const next = await call(`GET /audit?limit=2&cursor=${page.json.nextCursor}&transferId=${id}&actor=ada`)
    expect(next.json).toMatchObject({ records: [{ command: 'transfers.hold' }], nextCursor: null })
  })

  it('writes no entry, and changes nothing, when the action fails after it', async () => {
    const { id } = await enqueue()
    const url = await host.serve({
      engine: {
        ...engine,
        transfers: {
          ...engine.transfers,
          async hold(tx, transferId, note) {
            await engine.transfers.hold(tx, transferId, note)
            throw new Error('the process died')
          },
        },
      },
    })
    expect((await send(url, `POST /transfers/${id}/hold`, { body })).json).toMatchObject({ status: 500 })
    expect(await engine.transfers.get(id)).toMatchObject({ stage: 'queued' })
    expect(await records()).toEqual([])
  })
})
