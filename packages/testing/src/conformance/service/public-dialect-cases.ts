import { strict as assert } from 'node:assert'
import { expectRefusal, expectStatus } from './assertions.ts'
import { bankAccount, leg, newAccount, wallet, wireOnramp } from './samples.ts'
import { cases, needing } from './service-case.ts'
import type { Json } from './session.ts'
import { readAddresses } from './subject.ts'
import { startWebhookReceiver } from './webhook-receiver.ts'

/** Where the public contract contradicts the specification: a service in the public dialect. */
export const publicDialectCases = cases('Public dialect', {
  'the list of an account holds wallets and external addresses': needing(['public'], async (service) => {
    const id = await service.register(wallet(['base']))
    const list = async (query: Readonly<Record<string, string>>) =>
      readAddresses(await service.call('GET', service.at('/addresses'), { query: { 'page[size]': '100', ...query } }))
    const listed = await list({})
    assert.deepEqual(new Set(listed.map((one) => one.type)), new Set(['internal', 'external']))
    assert.ok(listed.some((one) => one.id === id))
    assert.ok((await list({ type: 'internal' })).every((one) => one.type === 'internal'))
  }),
  'one token moves one to one between chains of wallets of the service': needing(
    ['public', 'simulations'],
    async (service) => {
      await service.fund('USDC', 'base', '9')
      const before = await service.balance('USDC', 'polygon')
      const source = leg(await service.wallet('base'), 'USDC', 'base')
      const destination = leg(await service.wallet('polygon'), 'USDC', 'polygon')
      const amount = { value: '9', currency: 'USDC' }
      const { id } = await service.created({ amount, source, destination })
      await service.reaches(id, 'processing')
      await service.advance(60)
      const moved = await service.reaches(id, 'complete')
      const after = await service.balance('USDC', 'polygon')
      assert.equal(Number(after.total) - Number(before.total), 9)
      const hashes = [moved.source.transaction_id, moved.destination.transaction_id]
      assert.equal(new Set(hashes).size, 2)
      assert.ok(hashes.every((hash) => typeof hash === 'string'))
      const external = await service.register(wallet(['polygon']))
      expectRefusal(await service.create({ amount, source, destination: leg(external, 'USDC', 'polygon') }), 422)
      const other = leg(await service.wallet('polygon'), 'USDT', 'polygon')
      expectRefusal(await service.create({ amount, source, destination: other }), 422)
    },
  ),
  'the memo of a wire is destination.memo, and an institution may stand for its address': needing(
    ['public', 'simulations'],
    async (service) => {
      await service.fund('USDC', 'base', '80')
      const bank = await service.register(bankAccount(['wire']))
      const source = leg(await service.wallet('base'), 'USDC', 'base')
      const to = { financial_institution_id: bank, value_type: 'USD', transfer_type: 'wire' }
      const amount = { value: '40.00', currency: 'USD' }
      const { destination } = await service.created({ amount, source, destination: { ...to, memo: 'INV-42' } })
      assert.deepEqual([destination.wire_memo, destination.address_id], ['INV-42', bank])
      const twice = { ...to, memo: 'INV-42', wire_memo: 'INV-43' }
      expectRefusal(await service.create({ amount, source, destination: twice }), 422)
      const chain = { ...leg(await service.register(wallet(['base'])), 'USDC', 'base'), memo: 'INV-42' }
      expectRefusal(await service.create({ amount, source, destination: chain }), 422, 'wire_memo_not_supported')
    },
  ),
  'a webhook without events is archived, and event types have summaries': needing(['public'], async (service) => {
    const path = service.at('/webhooks')
    const body = { url: 'http://127.0.0.1:9/archived', events: ['transfer.*'] }
    const { json: webhook } = await service.call('POST', path, { body })
    const subscription = `${path}/subscriptions/${webhook['id']}`
    const changed = await service.call('PATCH', subscription, { body: { status: 'archived' } })
    assert.equal(changed.json['status'], 'archived')
    assert.equal((await service.call('GET', `${path}/${webhook['id']}`)).json['status'], 'archived')
    const { json: listed } = await service.call('GET', `${path}/event_types`)
    const types = listed['event_types'] as readonly { readonly event_type: string; readonly summary: string }[]
    assert.ok(types.some((one) => one.event_type === 'transfer.canceled' && one.summary.length > 0))
    await service.call('DELETE', subscription)
  }),
  'deliveries are listed by their attempts': needing(['public', 'simulations'], async (service) => {
    await using receiver = await startWebhookReceiver(service.options.patienceMs)
    const body = { url: receiver.url, events: ['transfer.created'] }
    const { json: webhook } = await service.call('POST', service.at('/webhooks'), { body })
    const ids = [await service.created(await wireOnramp(service)), await service.created(await wireOnramp(service))]
    const query = { subscription_id: String(webhook['id']), status: 'delivered', 'page[size]': '1' }
    const path = service.at('/webhooks/deliveries')
    const list = async (more: Readonly<Record<string, string>> = {}) =>
      (await service.call('GET', path, { query: { ...query, ...more } })).json
    await service.waitFor('both deliveries to be settled', async () => {
      const rows = (await list({ 'page[size]': '100' }))['deliveries'] as readonly Json[]
      return rows.length === ids.length ? true : undefined
    })
    const first = await list()
    const { next } = first['pagination'] as { readonly next: string }
    const [newest] = first['deliveries'] as readonly Json[]
    const [oldest] = (await list({ 'page[after]': next }))['deliveries'] as readonly Json[]
    assert.notEqual(newest?.['id'], oldest?.['id'])
    for (const row of [newest, oldest]) {
      assert.equal(row?.['attempt_number'], 1)
      assert.ok(Number(row?.['status_code']) >= 200 && Number(row?.['status_code']) < 300)
    }
    await service.call('DELETE', service.at(`/webhooks/subscriptions/${webhook['id']}`))
  }),
  'banks are linked at plaid, and the older path answers 200': needing(['public', 'simulations'], async (service) => {
    const publicToken = async () => {
      const { json: opened } = await service.call('POST', service.at('/plaid/link_token'), { body: {} })
      const flow = `/simulations/bank-links/${opened['link_token']}/complete`
      return (await service.call('POST', flow, { body: {} })).json['public_token']
    }
    const path = service.at('/plaid/register-account')
    expectStatus(await service.call('POST', path, { body: { public_token: await publicToken() } }), 201)
    const older = service.at('/financial-institutions/register-account')
    expectStatus(await service.call('POST', older, { body: { public_token: await publicToken() } }), 200)
  }),
  'an account may be registered without owners': needing(['public'], async (service) => {
    const { ultimate_beneficial_owners: _, ...body } = newAccount
    const created = await service.call('POST', '/accounts', { body })
    expectStatus(created, 201)
    assert.deepEqual(created.json['ultimate_beneficial_owners'], [])
  }),
})
