import { strict as assert } from 'node:assert'
import { createHmac } from 'node:crypto'
import { addresses } from '../../fixtures.ts'
import { expectRefusal, expectStatus, expectTimestamp, unknownId } from './assertions.ts'
import { achDebit, bankAccount, leg, newAccount, payout, wallet, wireOnramp } from './samples.ts'
import { cases, needing } from './service-case.ts'
import type { Json } from './session.ts'
import type { ServiceSubject } from './subject.ts'
import { startWebhookReceiver } from './webhook-receiver.ts'

const register = (service: ServiceSubject, body: unknown) =>
  service.call('POST', service.at('/addresses/external'), { body })

const errorsOf = (json: Json) => json['errors'] as readonly { readonly status: string; readonly code: string }[]

const without = (body: Json, ...names: readonly string[]): Json =>
  Object.fromEntries(Object.entries(body).filter(([name]) => !names.includes(name)))

/** Answers of which the specification says nothing, and that programs of the public contract read. */
export const bothContractsCases = cases('Both contracts', {
  'every refusal has an error, whose status is text': needing(['settled'], async (service) => {
    const refused = [
      await service.call('GET', service.at(`/transfers/${unknownId}`)),
      await service.call('GET', service.at(''), { token: 'unknown' }),
      await service.call('POST', '/accounts', { body: newAccount, key: null }),
      await register(service, {}),
    ]
    for (const { status, json, text } of refused) {
      assert.ok(status >= 400, text)
      const [first] = errorsOf(json)
      assert.equal(first?.status, String(status), text)
      assert.equal(first?.code, json['code'])
    }
  }),
  'an external address is answered with its record': needing(['settled'], async (service) => {
    const created = await register(service, { ...bankAccount(['ach_credit']), ownership: 'customer-owned' })
    expectStatus(created, 201)
    const { json } = created
    const read = await service.call('GET', service.at(`/addresses/${json['id']}`))
    assert.deepEqual(read.json, json)
    assert.deepEqual([json['type'], json['status'], json['ownership']], ['external', 'active', 'customer-owned'])
    assert.deepEqual([json['is_primary'], json['needs_update']], [false, false])
    assert.equal(json['routingNumber'], json['routing_number'])
    expectTimestamp(json['created'])
    expectTimestamp(json['last_updated'])
    expectRefusal(await register(service, { ...wallet(['base']), ownership: 'theirs' }), 422)
  }),
  'a bank account needs its postal addresses for wires only, and no name': needing(['settled'], async (service) => {
    const addresses = ['bank_address', 'beneficiary_address']
    const short = without(bankAccount(['ach_credit']), 'name', ...addresses)
    const { json } = await register(service, short)
    assert.equal(json['name'], short['owner'])
    for (const name of addresses) {
      expectRefusal(await register(service, without(bankAccount(['wire']), name)), 422, 'missing_field')
    }
    const patch = (body: Json) => service.call('PATCH', service.at(`/addresses/${json['id']}`), { body })
    expectRefusal(await patch({ additional_transfer_types: ['wire'] }), 422, 'missing_field')
    const place = bankAccount(['wire']).bank_address
    const changed = await patch({
      additional_transfer_types: ['wire'],
      bank_address: place,
      beneficiary_address: place,
    })
    expectStatus(changed, 200)
    assert.deepEqual(changed.json['transfer_types'], ['ach_credit', 'wire'])
    assert.deepEqual(changed.json['bank_address'], place)
  }),
  'a further wallet of an account is created, and holds what it is sent': needing(
    ['settled', 'simulations'],
    async (service) => {
      const body = { name: 'Payroll', transfer_types: ['base', 'polygon'] }
      const path = service.at('/addresses/internal')
      const key = crypto.randomUUID()
      const created = await service.call('POST', path, { body, key })
      expectStatus(created, 201)
      const { json } = created
      assert.deepEqual([json['type'], json['name'], json['is_primary']], ['internal', 'Payroll', false])
      assert.deepEqual(json['transfer_types'], ['base', 'polygon'])
      assert.notEqual(json['id'], await service.wallet('base'))
      assert.equal((await service.call('POST', path, { body, key })).text, created.text)
      await service.fund('USDC', 'base', '6')
      const source = leg(await service.wallet('base'), 'USDC', 'base')
      const destination = leg(String(json['id']), 'USDC', 'base')
      const amount = { value: '6', currency: 'USDC' }
      const { id } = await service.created({ amount, source, destination })
      await service.reaches(id, 'processing')
      await service.advance(60)
      await service.reaches(id, 'complete')
      const balance = await service.call('GET', service.at(`/addresses/${json['id']}/balance`))
      assert.deepEqual(balance.json['balance'], { value: '6.00', currency: 'USDC' })
      expectRefusal(await service.call('POST', path, { body: { ...body, transfer_types: ['wire'] } }), 422)
    },
  ),
  'the owners of a business come under either name': needing(['settled'], async (service) => {
    const { ultimate_beneficial_owners: owners, ...rest } = newAccount
    const more = { account_type: 'custodial', entity_type: 'business' }
    const created = await service.call('POST', '/accounts', { body: { ...rest, ...more, beneficial_owners: owners } })
    expectStatus(created, 201)
    const [owner] = created.json['ultimate_beneficial_owners'] as { name: string }[]
    assert.equal(owner?.name, owners[0]?.name)
    assert.equal(created.json['name'], rest.business_name)
    assert.equal(created.json['account_type'], 'custodial')
    expectTimestamp(created.json['created'])
    expectTimestamp(created.json['updated'])
    const twice = { ...newAccount, beneficial_owners: owners }
    expectRefusal(await service.call('POST', '/accounts', { body: twice }), 422)
    const person = { ...newAccount, account_type: 'custodial', entity_type: 'individual' }
    expectRefusal(await service.call('POST', '/accounts', { body: person }), 422)
  }),
  'how a business is reached can be changed, and what was reviewed cannot': needing(['settled'], async (service) => {
    const { json: account } = await service.call('POST', '/accounts', { body: newAccount })
    const patch = (body: Json) => service.call('PATCH', `/accounts/${account['id']}`, { body })
    const changed = await patch({ email: 'new@roe.example' })
    expectStatus(changed, 200)
    assert.equal(changed.json['email'], 'new@roe.example')
    assert.deepEqual((await service.call('GET', `/accounts/${account['id']}`)).json, changed.json)
    for (const body of [{ business_name: 'Other' }, { ein: '98-7654321' }, { status: 'complete' }, {}, { email: 5 }]) {
      expectRefusal(await patch(body), 422)
    }
  }),
  'a webhook gets the events that it asks for by either name, or is refused': needing(['settled'], async (service) => {
    const path = service.at('/webhooks')
    const url = 'http://127.0.0.1:9/by-events'
    const created = await service.call('POST', path, { body: { url, events: ['transfer.*'] } })
    expectStatus(created, 201)
    assert.deepEqual(created.json['event_types'], ['transfer.*'])
    assert.deepEqual(created.json['events'], ['transfer.*'])
    const one = await service.call('GET', `${path}/${created.json['id']}`)
    assert.equal(one.json['url'], url)
    const list = await service.call('GET', path)
    assert.deepEqual(list.json['subscriptions'], list.json['webhooks'])
    const other = 'http://127.0.0.1:9/refused'
    for (const body of [{ events: ['nothing.*'] }, { events: [] }, { events: ['*'], event_types: ['transfer.*'] }]) {
      expectRefusal(await service.call('POST', path, { body: { url: other, ...body } }), 422)
    }
    await service.call('DELETE', `${path}/subscriptions/${created.json['id']}`)
  }),
  'the octets of a shared secret sign the body, and every attempt has one key': needing(
    ['settled', 'simulations'],
    async (service) => {
      await using receiver = await startWebhookReceiver(service.options.patienceMs)
      const body = { url: receiver.url, events: ['transfer.created'] }
      const { json: webhook } = await service.call('POST', service.at('/webhooks'), { body })
      const { id } = await service.created(await wireOnramp(service))
      const sent = await receiver.waitFor((event) => (event['data'] as { id?: unknown }).id === id)
      const key = Buffer.from(String(webhook['sharedSecret']), 'base64url')
      const hex = createHmac('sha256', key).update(sent.body).digest('hex')
      assert.equal(sent.headers['x-request-signature-sha-256'], hex)
      assert.match(String(sent.headers['idempotency-key']), /^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/)
      await service.call('DELETE', service.at(`/webhooks/subscriptions/${webhook['id']}`))
    },
  ),
  'the attempts of a delivery are listed with what was answered': needing(
    ['settled', 'simulations'],
    async (service) => {
      await using receiver = await startWebhookReceiver(service.options.patienceMs)
      const body = { url: receiver.url, events: ['transfer.created'] }
      const { json: webhook } = await service.call('POST', service.at('/webhooks'), { body })
      const { id } = await service.created(await wireOnramp(service))
      await receiver.waitFor((event) => (event['data'] as { id?: unknown }).id === id)
      const query = { subscription_id: String(webhook['id']) }
      const row = await service.waitFor('the delivery to be settled', async () => {
        const { json } = await service.call('GET', service.at('/webhooks/deliveries'), { query })
        const [first] = json['deliveries'] as readonly Json[]
        return first?.['status'] === 'delivered' ? first : undefined
      })
      assert.equal(row['attempt_number'], 1)
      const deliveryId = String(row['delivery_id'] ?? row['id'])
      const { json } = await service.call('GET', service.at(`/webhooks/deliveries/${deliveryId}/attempts`))
      const [attempt, ...more] = json['attempts'] as readonly Json[]
      assert.deepEqual(more, [])
      assert.deepEqual([attempt?.['attempt_number'], attempt?.['status_code']], [1, row['status_code']])
      expectRefusal(await service.call('GET', service.at('/webhooks/deliveries/999999999/attempts')), 404)
      await service.call('DELETE', service.at(`/webhooks/subscriptions/${webhook['id']}`))
    },
  ),
  'an automation is created by destination_address, and answers with it': needing(['settled'], async (service) => {
    const destination = leg(await service.wallet('base'), 'USDC', 'base')
    const body = { name: 'Deposits', source: { value_type: 'USD' }, destination_address: destination }
    const created = await service.call('POST', service.at('/automations'), { body })
    expectStatus(created, 201)
    assert.deepEqual(created.json['destination_address'], destination)
    assert.deepEqual(created.json['destination'], destination)
  }),
  'an automation gets another destination by the id of an address': needing(['settled'], async (service) => {
    const destination = leg(await service.wallet('base'), 'USDC', 'base')
    const body = { name: 'Deposits', source: { value_type: 'USD' }, destination }
    const { json } = await service.call('POST', service.at('/automations'), { body })
    const path = service.at(`/automations/${json['id']}`)
    const change = { address_id: await service.register(wallet(['base'])) }
    for (const where of [path, `${path}/destination`]) {
      const changed = await service.call('PATCH', where, { body: change })
      expectStatus(changed, 200)
      assert.deepEqual(changed.json['destination'], { ...destination, ...change })
    }
    assert.deepEqual((await service.call('GET', path)).json['destination'], { ...destination, ...change })
    for (const address_id of [await service.register(wallet(['solana'], addresses.solana[0])), unknownId]) {
      expectRefusal(await service.call('PATCH', path, { body: { address_id } }), 422)
    }
  }),
  'a balance is found without naming what it is of, as long as that is clear': needing(
    ['settled', 'simulations'],
    async (service) => {
      const path = service.at(`/addresses/${await service.wallet('solana')}/balance`)
      await service.fund('USDC', 'solana', '2.5')
      const { json } = await service.call('GET', path)
      assert.deepEqual([json['value_type'], json['transfer_type']], ['USDC', 'solana'])
      await service.fund('USDT', 'solana', '1')
      expectRefusal(await service.call('GET', path), 422)
      expectStatus(await service.call('GET', path, { query: { value_type: 'USDT' } }), 200)
    },
  ),
  'mints, burns and moves of tokens are views of transfers': needing(['settled', 'simulations'], async (service) => {
    const mint = await service.created(await achDebit(service))
    const move = await service.created(await payout(service))
    const list = async (path: string, name: string) => {
      const answer = await service.call('GET', path, { query: { 'page[size]': '100' } })
      expectStatus(answer, 200)
      return (answer.json[name] as readonly { readonly id: string }[]).map(({ id }) => id)
    }
    for (const path of ['/tokens', service.at('/tokens')]) {
      const mints = await list(`${path}/mints`, 'mints')
      const moves = await list(`${path}/transfers`, 'transfers')
      assert.ok(mints.includes(mint.id) && !mints.includes(move.id))
      assert.ok(moves.includes(move.id) && !moves.includes(mint.id))
      assert.ok(!(await list(`${path}/burns`, 'burns')).includes(mint.id))
      const one = await service.call('GET', `${path}/mints/${mint.id}`)
      assert.equal(one.json['id'], mint.id)
      expectRefusal(await service.call('GET', `${path}/mints/${move.id}`), 404)
    }
  }),
  'a linked bank account is named by its address, and can be for chosen rails': needing(
    ['settled', 'simulations'],
    async (service) => {
      const path = service.at('/banklink')
      const opened = await service.call('POST', `${path}/link_token`, { body: { redirect_uri: 'https://roe.example' } })
      const flow = `/simulations/bank-links/${opened.json['link_token']}/complete`
      const { json: done } = await service.call('POST', flow, { body: {} })
      const body = { public_token: done['public_token'], transfer_types: ['ach_debit'] }
      const answer = await service.call('POST', `${path}/register-account`, { body })
      expectStatus(answer, 201)
      const { address_id: id } = answer.json
      assert.equal(answer.json['financial_institution_id'], id)
      assert.ok(answer.headers.get('location')?.endsWith(service.at(`/addresses/${id}`)))
      const { json: address } = await service.call('GET', service.at(`/addresses/${id}`))
      assert.deepEqual(address['transfer_types'], ['ach_debit'])
      const renewal = await service.call('POST', service.at(`/addresses/${id}/update-link-token`), { body: {} })
      expectStatus(renewal, 200)
      expectTimestamp(renewal.json['expiration'])
      assert.ok(URL.canParse(String(renewal.json['callback_url'])))
    },
  ),
})
