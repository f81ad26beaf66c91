import { strict as assert } from 'node:assert'
import { expectRefusal, expectStatus, unknownId } from './assertions.ts'
import type { TransferPage } from './records.ts'
import { leg, wallet, wireOnramp } from './samples.ts'
import { cases, needing } from './service-case.ts'

const mismatch = /cannot be reused with a different payload or URI/

/** Idempotency keys and refusals. Specification: "Errors", with "Idempotency behaviour". */
export const idempotencyCases = cases('Errors', {
  'a create without an idempotency key answers 400': async (service) => {
    expectRefusal(await service.create(await wireOnramp(service), { key: null }), 400)
    const register = { body: wallet(['base']), key: null }
    expectRefusal(await service.call('POST', service.at('/addresses/external'), register), 400)
  },
  'a retry with the same key and body answers 201 with the same JSON, and there is one transfer': async (service) => {
    const [body, key] = [await wireOnramp(service), crypto.randomUUID()]
    const first = await service.create(body, { key })
    const second = await service.create(body, { key })
    expectStatus(first, 201)
    expectStatus(second, 201)
    assert.deepEqual(second.json, first.json)
    const query = { 'page[size]': '2' }
    const { json } = await service.call<TransferPage>('GET', service.at('/transfers'), { query })
    assert.equal(json.transfers.filter(({ id }) => id === first.json.id).length, 1)
    assert.notEqual(json.transfers[1]?.id, first.json.id)
  },
  'a replay has the same bytes and says that it is one, in whatever order the members come': needing(
    ['settled'],
    async (service) => {
      const [body, key] = [await wireOnramp(service), crypto.randomUUID()]
      const first = await service.create(body, { key })
      const turned = Object.fromEntries(Object.entries(body).reverse())
      const second = await service.create(turned, { key })
      assert.equal(second.text, first.text)
      assert.equal(first.headers.get('idempotent-replayed'), null)
      assert.equal(second.headers.get('idempotent-replayed'), 'true')
    },
  ),
  'the same key with another body answers 422 idempotency_key_mismatch': async (service) => {
    const [body, key] = [await wireOnramp(service), crypto.randomUUID()]
    await service.create(body, { key })
    const other = { ...body, amount: { value: '126.00', currency: 'USD' } }
    assert.match(expectRefusal(await service.create(other, { key }), 422).message, mismatch)
  },
  'the same key at another URI answers 422 idempotency_key_mismatch': async (service) => {
    const [body, key] = [await wireOnramp(service), crypto.randomUUID()]
    await service.create(body, { key })
    const register = { body: wallet(['base']), key }
    const answer = await service.call('POST', service.at('/addresses/external'), register)
    assert.match(expectRefusal(answer, 422).message, mismatch)
  },
  'the same key with another query string answers 422 idempotency_key_mismatch': async (service) => {
    const [body, key] = [await wireOnramp(service), crypto.randomUUID()]
    const first = await service.create(body, { key })
    const answer = await service.create(body, { key, query: { copy: '2' } })
    assert.match(expectRefusal(answer, 422).message, mismatch)
    assert.equal((await service.create(body, { key })).json.id, first.json.id)
  },
  'a refusal spells members as the request does': needing(['settled'], async (service) => {
    const { destination, ...rest } = await wireOnramp(service)
    const camel = { addressId: unknownId, valueType: destination.value_type, transferType: destination.transfer_type }
    const pointers = async (given: unknown) => {
      const answer = await service.create({ ...rest, destination: given })
      return [...new Set(expectRefusal(answer, 422).errors.map(({ source }) => source?.['pointer']))]
    }
    assert.deepEqual(await pointers({ ...destination, address_id: unknownId }), ['/destination/address_id'])
    assert.deepEqual(await pointers({ ...destination, transfer_type: 'wire' }), ['/destination/transfer_type'])
    assert.deepEqual(await pointers(camel), ['/destination/addressId'])
  }),
  'after a mismatch the first transfer is what it was, and a new key works': async (service) => {
    const [body, key] = [await wireOnramp(service), crypto.randomUUID()]
    const first = await service.create(body, { key })
    const other = { ...body, amount: { value: '126.00', currency: 'USD' } }
    await service.create(other, { key })
    assert.equal((await service.create(body, { key })).json.id, first.json.id)
    assert.notEqual((await service.created(other)).id, first.json.id)
  },
  'two clients may use the same key': needing(['second'], async (service) => {
    const key = crypto.randomUUID()
    const register = { body: wallet(['base']), key }
    const ours = await service.call('POST', service.at('/addresses/external'), register)
    const { stranger } = service
    const path = `/accounts/${stranger.accountId}/addresses/external`
    const theirs = await stranger.call('POST', path, register)
    expectStatus(theirs, 201)
    assert.notEqual(theirs.json['id'], ours.json['id'])
  }),
  'a key may come with a GET and a PATCH and changes nothing there': needing(['settled'], async (service) => {
    const id = await service.register(wallet(['base']))
    const key = crypto.randomUUID()
    const path = service.at(`/addresses/${id}`)
    expectStatus(await service.call('GET', path, { key }), 200)
    expectStatus(await service.call('PATCH', path, { key, body: { transfer_types: ['polygon'] } }), 200)
    expectStatus(await service.create(await wireOnramp(service), { key }), 201)
  }),
  'insufficient_balance answers 422, and the same key works after the money came': needing(
    ['simulations'],
    async (service) => {
      const payee = await service.register(wallet(['arbitrum']))
      const walletId = await service.wallet('arbitrum')
      const before = await service.balance('PYUSD', 'arbitrum')
      const value = (Number(before.available) + 40).toFixed(2)
      const source = leg(walletId, 'PYUSD', 'arbitrum')
      const body = { amount: { value, currency: 'PYUSD' }, source, destination: leg(payee, 'PYUSD', 'arbitrum') }
      const key = crypto.randomUUID()
      expectRefusal(await service.create(body, { key }), 422, 'insufficient_balance')
      expectRefusal(await service.create(body, { key }), 422, 'insufficient_balance')
      await service.fund('PYUSD', 'arbitrum', '40')
      const created = await service.create(body, { key })
      expectStatus(created, 201)
      assert.equal((await service.create(body, { key })).json.id, created.json.id)
      assert.equal(Number((await service.balance('PYUSD', 'arbitrum')).available), 0)
    },
  ),
  'a failed validation is answered the same again, and the corrected request needs a new key': needing(
    ['settled'],
    async (service) => {
      const [body, key] = [await wireOnramp(service), crypto.randomUUID()]
      const broken = { ...body, amount: { value: '-1', currency: 'USD' } }
      const first = await service.create(broken, { key })
      const second = await service.create(broken, { key })
      expectRefusal(first, 422)
      assert.equal(second.text, first.text)
      expectRefusal(await service.create(body, { key }), 422, 'idempotency_key_mismatch')
    },
  ),
  'many requests at once with one key make one transfer': async (service) => {
    const [body, key] = [await wireOnramp(service), crypto.randomUUID()]
    const answers = await Promise.all(Array.from({ length: 12 }, () => service.create(body, { key })))
    const made = answers.filter(({ status }) => status === 201)
    assert.ok(made.length > 0)
    assert.equal(new Set(made.map(({ json }) => json.id)).size, 1)
    for (const { status } of answers) assert.ok([201, 409].includes(status), String(status))
  },
  'every refusal is a problem with its code, its request id and the member': needing(['settled'], async (service) => {
    const answer = await service.create({ ...(await wireOnramp(service)), amount: { value: '1', currency: 'XYZ' } })
    const problem = expectRefusal(answer, 422, 'unknown_value_type')
    assert.equal(answer.headers.get('content-type'), 'application/problem+json')
    assert.equal(answer.headers.get('x-request-id'), problem.request_id)
    assert.deepEqual(problem.errors[0]?.source, { pointer: '/amount/currency' })
    const missing = await service.call('GET', '/no/such/path')
    assert.equal(expectRefusal(missing, 404).code, 'not_found')
  }),
  'bodies that are no JSON, too large, too deep or of another type are refused': needing(
    ['settled'],
    async (service) => {
      const send = (body: string, type = 'application/json') =>
        service.call('POST', service.at('/transfers'), { body, headers: { 'content-type': type } })
      expectRefusal(await send('{"amount":'), 400)
      expectRefusal(await send(''), 400)
      expectRefusal(await send('[]'), 422)
      expectRefusal(await send('{"note":1e400}'), 422)
      expectRefusal(await send(`{"note":"${'x'.repeat(300_000)}"}`), 413)
      expectRefusal(await send('['.repeat(100) + ']'.repeat(100)), 400)
      expectRefusal(await send('amount=1', 'text/plain'), 415)
    },
  ),
  'an id that is no id is not found, never a bad request': needing(['settled'], async (service) => {
    for (const id of ['1', '%00', '%ff', unknownId, "1'%20or%20'1'='1", '..%2f..']) {
      expectRefusal(await service.call('GET', service.at(`/transfers/${id}`)), 404)
      expectRefusal(await service.call('GET', service.at(`/addresses/${id}`)), 404)
    }
  }),
})
