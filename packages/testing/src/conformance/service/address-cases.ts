import { strict as assert } from 'node:assert'
import { addresses, brokenAddresses, brokenRoutingNumbers } from '../../fixtures.ts'
import { expectRefusal, expectStatus, idPattern, unknownId } from './assertions.ts'
import type { AddressRecord } from './records.ts'
import { bankAccount, leg, wallet } from './samples.ts'
import { cases, needing } from './service-case.ts'
import { readAddresses, type ServiceSubject } from './subject.ts'

const register = (service: ServiceSubject, body: unknown) =>
  service.call<{ id: string }>('POST', service.at('/addresses/external'), { body })

const read = async (service: ServiceSubject, id: string) => {
  const answer = await service.call<AddressRecord & Record<string, unknown>>('GET', service.at(`/addresses/${id}`))
  expectStatus(answer, 200)
  return answer.json
}

const nonEvm = [
  ['solana', addresses.solana[0]],
  ['stellar', addresses.stellar[0]],
  ['xrp_ledger', addresses.xrp[0]],
  ['canton', addresses.canton[0]],
] as const

/** Addresses: custodial wallets, the three kinds of external address, and their rules. */
export const addressCases = [
  ...cases('Resources and their fields: Address', {
    'each kind of external address answers with the id to use as address_id': async (service) => {
      const kinds = [
        wallet(['base']),
        { name: 'Party', address: addresses.canton[0], transfer_types: ['canton'] },
        bankAccount(['ach_credit', 'ach_debit', 'wire', 'rtp']),
      ]
      const ids = new Set<string>()
      for (const body of kinds) {
        const answer = await register(service, body)
        expectStatus(answer, 201)
        assert.match(answer.json.id, idPattern)
        ids.add(answer.json.id)
      }
      assert.equal(ids.size, kinds.length)
    },
    'an external address keeps what it was registered with': needing(['settled'], async (service) => {
      const id = await service.register(wallet(['base', 'polygon']))
      const found = await read(service, id)
      assert.deepEqual(
        [found.type, found.address, found.transfer_types],
        ['external', addresses.evm[0], ['base', 'polygon']],
      )
    }),
    'a bank account shows its number by its last four digits': needing(['settled'], async (service) => {
      const id = await service.register(bankAccount(['wire'], '445566778899'))
      const found = await read(service, id)
      assert.deepEqual([found['account_number'], found['routing_number']], ['****8899', '021000021'])
      assert.equal(found['owner'], 'Roe Supplies LLC')
      assert.ok(!JSON.stringify(found).includes('445566778899'))
    }),
    'balances are not to be had of an external address': needing(['settled'], async (service) => {
      const id = await service.register(wallet(['base']))
      const query = { value_type: 'USDC', transfer_type: 'base' }
      const answer = await service.call('GET', service.at(`/addresses/${id}/balance`), { query })
      assert.ok(answer.status >= 400 && answer.status < 500, answer.text)
    }),
  }),
  ...cases('Endpoints: Addresses', {
    'the list of an account holds its custodial wallets': needing(['specification'], async (service) => {
      const wallets = readAddresses(await service.call('GET', service.at('/addresses')))
      assert.ok(wallets.length > 0)
      for (const one of wallets) {
        assert.match(one.id, idPattern)
        assert.equal(one.type, 'internal')
      }
    }),
    'the list over all accounts distinguishes internal from external': async (service) => {
      await service.register(wallet(['base']))
      const all = readAddresses(await service.call('GET', '/addresses', { query: { 'page[size]': '100' } }))
      assert.deepEqual(new Set(all.map((one) => one.type)), new Set(['internal', 'external']))
    },
    'EVM chains share one address': async (service) => {
      const first = await service.register(wallet(['ethereum', 'base', 'polygon', 'arbitrum']))
      const second = await service.register(wallet(['ethereum', 'base', 'polygon', 'arbitrum'], addresses.evm[1]))
      assert.notEqual(first, second)
    },
    'chains of other families need an address each': async (service) => {
      const ids = new Set<string>()
      for (const [transferType, address] of nonEvm) {
        ids.add(await service.register(wallet([transferType], address)))
        const mixed = await register(service, wallet([transferType, 'base'], address))
        expectRefusal(mixed, 422)
      }
      assert.equal(ids.size, nonEvm.length)
    },
    'an address must have the form of its chain': needing(['settled'], async (service) => {
      const broken = [
        ['base', brokenAddresses.evm],
        ['solana', brokenAddresses.solana],
        ['stellar', brokenAddresses.stellar],
        ['xrp_ledger', brokenAddresses.xrp],
        ['canton', brokenAddresses.canton],
        ['base', addresses.solana[0]],
      ] as const
      for (const [transferType, address] of broken) {
        expectRefusal(await register(service, wallet([transferType], address)), 422)
      }
    }),
    'a bank account needs a routing number with a right checksum, and every member for wires': needing(
      ['settled'],
      async (service) => {
        const complete = bankAccount(['wire'])
        for (const routingNumber of brokenRoutingNumbers) {
          expectRefusal(await register(service, { ...complete, routing_number: routingNumber }), 422)
        }
        for (const member of Object.keys(complete).filter((name) => name !== 'name')) {
          expectRefusal(await register(service, { ...complete, [member]: undefined }), 422, member)
        }
      },
    ),
    'a permanent failure of validation is invalid_account_number': needing(['settled'], async (service) => {
      expectRefusal(await register(service, bankAccount(['wire'], '12')), 422, 'invalid_account_number')
    }),
    'transfer types of its family can be added to an address later': async (service) => {
      const id = await service.register(wallet(['base']))
      const patched = await service.call('PATCH', `/addresses/${id}`, { body: { transfer_types: ['polygon'] } })
      assert.ok(patched.status >= 200 && patched.status < 300, patched.text)
      expectRefusal(await service.call('PATCH', `/addresses/${id}`, { body: { transfer_types: ['solana'] } }), 422)
    },
    'added transfer types are merged, and the chain can be used': needing(['settled'], async (service) => {
      const id = await service.register(wallet(['base']))
      await service.call('PATCH', `/addresses/${id}`, { body: { transfer_types: ['polygon'] } })
      await service.call('PATCH', `/addresses/${id}`, { body: { transfer_types: ['polygon', 'base'] } })
      assert.deepEqual((await read(service, id)).transfer_types, ['base', 'polygon'])
      const mixed = await service.call('PATCH', `/addresses/${id}`, { body: { transfer_types: ['solana'] } })
      expectRefusal(mixed, 422)
    }),
    'an address of another client is not found': needing(['second', 'settled'], async (service) => {
      const id = await service.register(wallet(['base']))
      expectRefusal(await service.stranger.call('GET', `/addresses/${id}`), 404)
      const body = { transfer_types: ['polygon'] }
      expectRefusal(await service.stranger.call('PATCH', `/addresses/${id}`, { body }), 404)
      assert.deepEqual((await read(service, id)).transfer_types, ['base'])
    }),
    'an unknown address is not found': async (service) => {
      const body = { transfer_types: ['polygon'] }
      expectRefusal(await service.call('PATCH', `/addresses/${unknownId}`, { body }), 404)
    },
    'balances are those of custodial wallets': async (service) => {
      const id = await service.register(wallet(['base']))
      const answer = await service.call<unknown>('GET', '/balances')
      expectStatus(answer, 200)
      assert.ok(!answer.text.includes(id))
      const list = Array.isArray(answer.json) ? answer.json : Object.values(answer.json ?? {})[0]
      assert.ok(Array.isArray(list), answer.text)
    },
    'a balance names its wallet, value type and chain, and what can be spent': needing(
      ['settled', 'simulations'],
      async (service) => {
        const before = await service.balance('SBC', 'polygon')
        await service.fund('SBC', 'polygon', '7.25')
        const after = await service.balance('SBC', 'polygon')
        assert.equal(Number(after.total) - Number(before.total), 7.25)
        assert.equal(after.total, after.available)
        const answer = await service.call<{ balances: Record<string, unknown>[] }>('GET', '/balances')
        const walletId = await service.wallet('polygon')
        const ids = answer.json.balances.map((one) => (one['address'] as { id: string }).id)
        assert.ok(ids.includes(walletId), answer.text)
      },
    ),
    'a Canton transfer to an outside party expires after 72 hours unless it is accepted': needing(
      ['simulations', 'settled'],
      async (service) => {
        await service.fund('USDC', 'canton', '20')
        const party = await service.register(wallet(['canton'], addresses.canton[0]))
        const source = leg(await service.wallet('canton'), 'USDC', 'canton')
        const body = { amount: { value: '10', currency: 'USDC' }, source, destination: leg(party, 'USDC', 'canton') }
        const accepted = await service.created(body)
        const ignored = await service.created(body)
        await service.reaches(accepted.id, 'processing')
        await service.reaches(ignored.id, 'processing')
        await service.advance(71 * 3_600)
        assert.equal((await service.read(ignored.id)).status, 'processing')
        expectStatus(await service.call('POST', `/simulations/transfers/${accepted.id}/accept`, { body: {} }), 202)
        await service.reaches(accepted.id, 'complete')
        await service.advance(2 * 3_600)
        const expired = await service.reaches(ignored.id, 'failed')
        assert.equal(expired.failure?.['type'], 'expired')
      },
    ),
    'a Canton transfer to a party in custody here is accepted by itself': needing(
      ['simulations', 'second', 'settled'],
      async (service) => {
        await service.fund('USDC', 'canton', '10')
        const theirs = await service.stranger.call('GET', `/accounts/${service.stranger.accountId}/addresses`)
        const party = readAddresses(theirs).find((one) => one.transfer_types?.includes('canton'))
        const destination = await service.register(wallet(['canton'], party?.address))
        const source = leg(await service.wallet('canton'), 'USDC', 'canton')
        const amount = { value: '10', currency: 'USDC' }
        const { id } = await service.created({ amount, source, destination: leg(destination, 'USDC', 'canton') })
        await service.reaches(id, 'processing')
        await service.advance(60)
        await service.reaches(id, 'complete')
      },
    ),
  }),
]
