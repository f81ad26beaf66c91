import { strict as assert } from 'node:assert'
import { expectRefusal, expectStatus, expectTimestamp, idPattern, unknownId } from './assertions.ts'
import { newAccount, payout, wallet, wireOnramp } from './samples.ts'
import { cases, needing } from './service-case.ts'
import { readAddresses } from './subject.ts'

/** Accounts: reading, registering, and what follows from their status. */
export const accountCases = [
  ...cases('Resources and their fields: Account', {
    'an account has its id, its onboarding status and the business': async (service) => {
      const { json, status } = await service.call('GET', service.at(''))
      assert.equal(status, 200)
      assert.equal(json['id'], service.accountId)
      assert.ok(['complete', 'pending', 'rejected'].includes(String(json['status'])))
      for (const member of ['business_name', 'ein', 'phone_number', 'email', 'website']) {
        assert.equal(typeof json[member], 'string', member)
      }
      const { street_line_1: street, city, state, zip } = json['address'] as Record<string, unknown>
      for (const part of [street, city, state, zip]) assert.equal(typeof part, 'string')
      assert.ok(Array.isArray(json['ultimate_beneficial_owners']))
    },
    'ein and ssn are shown by their last four digits': needing(['settled'], async (service) => {
      const registered = await service.call('POST', '/accounts', { body: newAccount })
      expectStatus(registered, 201)
      assert.equal(registered.json['ein'], '**-***6789')
      const [owner] = registered.json['ultimate_beneficial_owners'] as { name: string; ssn: string }[]
      assert.deepEqual([owner?.name, owner?.ssn], ['Ada Roe', '***-**-4321'])
      const read = await service.call('GET', `/accounts/${registered.json['id']}`)
      assert.deepEqual(read.json, registered.json)
    }),
  }),
  ...cases('Endpoints: Accounts', {
    'an account that a client may not use is not found': async (service) => {
      expectRefusal(await service.call('GET', `/accounts/${unknownId}`), 404)
    },
    'an account of another client is not found, whatever is asked of it': needing(['second'], async (service) => {
      for (const path of ['', '/addresses', '/transfers']) {
        const answer = await service.stranger.call('GET', `/accounts/${service.accountId}${path}`)
        expectRefusal(answer, 404)
      }
    }),
    'registering an account makes a wallet on every chain': needing(['settled'], async (service) => {
      const registered = await service.call<{ id: string }>('POST', '/accounts', { body: newAccount })
      expectStatus(registered, 201)
      const path = `/accounts/${registered.json.id}/addresses`
      const wallets = readAddresses(await service.call('GET', path, { query: { 'page[size]': '100' } }))
      const chains = wallets.flatMap((one) => one.transfer_types ?? [])
      const wanted = ['ethereum', 'base', 'polygon', 'arbitrum', 'solana', 'stellar', 'xrp_ledger', 'canton']
      for (const chain of wanted) assert.equal(chains.filter((one) => one === chain).length, 1, chain)
      assert.ok(wallets.every((one) => one.type === 'internal'))
    }),
    'registering an account needs an idempotency key and makes one account per key': needing(
      ['settled'],
      async (service) => {
        expectRefusal(await service.call('POST', '/accounts', { body: newAccount, key: null }), 400)
        const key = crypto.randomUUID()
        const first = await service.call('POST', '/accounts', { body: newAccount, key })
        const second = await service.call('POST', '/accounts', { body: newAccount, key })
        assert.equal(first.text, second.text)
      },
    ),
  }),
  ...cases('States and transitions: Account statuses', {
    'an account that is not complete makes no transfers, and the same key works once it is': needing(
      ['settled', 'simulations'],
      async (service) => {
        const { json: account } = await service.call<{ id: string }>('POST', '/accounts', { body: newAccount })
        const setStatus = (status: string) =>
          service.call('POST', `/simulations/accounts/${account.id}/status`, { body: { status } })
        const addresses = await service.call('GET', `/accounts/${account.id}/addresses`)
        const [destination] = readAddresses(addresses)
        const body = await wireOnramp(service)
        const own = { ...body, destination: { ...body.destination, address_id: destination?.id } }
        const key = crypto.randomUUID()
        const create = () => service.call('POST', `/accounts/${account.id}/transfers`, { body: own, key })
        for (const status of ['pending', 'rejected']) {
          expectStatus(await setStatus(status), 200)
          const read = await service.call('GET', `/accounts/${account.id}`)
          assert.equal(read.json['status'], status)
          expectRefusal(await create(), 422, 'account_not_ready')
        }
        await setStatus('complete')
        expectStatus(await create(), 201)
      },
    ),
  }),
  ...cases('Resources and their fields: Conventions', {
    'ids are 26 letters and digits, and sort by the time of their making': async (service) => {
      const ids: string[] = []
      for (let count = 0; count < 3; count += 1) {
        ids.push(await service.register(wallet(['base'])))
        await new Promise((resolve) => setTimeout(resolve, 2))
      }
      for (const id of [service.accountId, ...ids]) assert.match(id, idPattern)
      assert.deepEqual(ids, [...new Set(ids)].sort())
    },
    'ids are case-sensitive': async (service) => {
      const { id } = await service.created(await wireOnramp(service))
      const other = [...id].map((letter) =>
        letter === letter.toUpperCase() ? letter.toLowerCase() : letter.toUpperCase(),
      )
      expectRefusal(await service.call('GET', service.at(`/transfers/${other.join('')}`)), 404)
    },
    'timestamps are ISO 8601 in UTC with fractional seconds': async (service) => {
      const transfer = await service.created(await wireOnramp(service))
      expectTimestamp(transfer.created_at)
      expectTimestamp(transfer.updated_at)
    },
    'a value type comes back in upper case and a transfer type in lower case, also when it was sent otherwise': needing(
      ['simulations'],
      async (service) => {
        const body = await payout(service)
        const source = { ...body.source, value_type: 'usdc', transfer_type: 'Base' }
        const transfer = await service.created({ ...body, source })
        assert.deepEqual([transfer.source.value_type, transfer.source.transfer_type], ['USDC', 'base'])
      },
    ),
    'a wallet holds several pairs of value type and transfer type': needing(['simulations'], async (service) => {
      await service.fund('USDC', 'base', '3')
      await service.fund('USDT', 'base', '4')
      await service.fund('USDC', 'polygon', '5')
      assert.equal(await service.wallet('base'), await service.wallet('polygon'))
      const pairs = [
        ['USDC', 'base', 3],
        ['USDT', 'base', 4],
        ['USDC', 'polygon', 5],
      ] as const
      for (const [valueType, transferType, least] of pairs) {
        assert.ok(Number((await service.balance(valueType, transferType)).total) >= least)
      }
    }),
    'what a client sends beside the documented members does no harm': needing(['settled'], async (service) => {
      const body = { ...(await wireOnramp(service)), something_else: { deeply: ['unknown'] } }
      expectStatus(await service.create(body), 201)
    }),
  }),
]
