import { strict as assert } from 'node:assert'
import { expectRefusal, expectStatus, expectStrings, idPattern, unknownId } from './assertions.ts'
import type { TransferRecord } from './records.ts'
import { achDebit, bankAccount, inboundWire, leg, offramp, payout, wallet, wireOnramp } from './samples.ts'
import { cases, needing } from './service-case.ts'

const wireInstructionMembers = [
  'beneficiary_name',
  'bank_name',
  'bank_address',
  'account_number',
  'beneficiary_address',
] as const

/** Transfers: every shape of a create, and what its record has. */
export const transferCases = [
  ...cases('Endpoints: Transfers', {
    'a wire onramp needs no source address and is pending': async (service) => {
      const transfer = await service.created(await wireOnramp(service))
      assert.equal(transfer.status, 'pending')
      assert.deepEqual([transfer.source.value_type, transfer.source.transfer_type], ['USD', 'wire'])
      assert.equal(transfer.source.address_id, undefined)
    },
    'an ACH debit of a bank account mints to a wallet': async (service) => {
      const body = await achDebit(service)
      const transfer = await service.created(body)
      assert.equal(transfer.source.address_id, body.source.address_id)
      assert.equal(transfer.destination.address_id, body.destination.address_id)
    },
    'a wire offramp carries its memo': needing(['simulations'], async (service) => {
      const body = await offramp(service, 'wire')
      const destination = { ...body.destination, wire_memo: 'INV-42' }
      const transfer = await service.created({ ...body, destination })
      assert.equal(transfer.destination.wire_memo, 'INV-42')
      assert.equal(transfer.destination.transfer_type, 'wire')
    }),
    'an offramp goes by ACH credit, by same-day ACH credit and by RTP': needing(['simulations'], async (service) => {
      for (const transferType of ['ach_credit', 'same_day_ach_credit', 'rtp']) {
        const transfer = await service.created(await offramp(service, transferType))
        assert.equal(transfer.destination.transfer_type, transferType)
      }
    }),
    'a swap turns one token into another on the same chain, one to one': needing(['simulations'], async (service) => {
      for (const valueType of ['SBC', 'YSBC']) {
        await service.fund('USDC', 'base', '30')
        const walletId = await service.wallet('base')
        const before = await service.balance(valueType, 'base')
        const { id } = await service.created({
          amount: { value: '30', currency: 'USDC' },
          source: leg(walletId, 'USDC', 'base'),
          destination: leg(walletId, valueType, 'base'),
        })
        await service.reaches(id, 'processing')
        await service.advance(60)
        await service.reaches(id, 'complete')
        const after = await service.balance(valueType, 'base')
        assert.equal(Number(after.total) - Number(before.total), 30)
      }
    }),
    'a payout goes from a wallet to an external address': needing(['simulations'], async (service) => {
      const body = await payout(service)
      const transfer = await service.created(body)
      assert.equal(transfer.source.address_id, body.source.address_id)
      assert.equal(transfer.destination.address_id, body.destination.address_id)
    }),
    'a payout may arrive as another token': needing(['simulations'], async (service) => {
      await service.fund('YSBC', 'base', '12.50')
      const body = await payout(service)
      const source = leg(body.source.address_id, 'YSBC', 'base')
      const transfer = await service.created({ ...body, source })
      assert.deepEqual([transfer.source.value_type, transfer.destination.value_type], ['YSBC', 'USDC'])
    }),
    'the singular path takes the camelCase form of the payout example': needing(['simulations'], async (service) => {
      const { amount, source, destination } = await payout(service)
      const camel = ({ address_id: addressId, value_type: valueType, transfer_type: transferType }: typeof source) => ({
        addressId,
        valueType,
        transferType,
      })
      const body = { amount, source: camel(source), destination: camel(destination) }
      const answer = await service.call<TransferRecord>('POST', service.at('/transfer'), { body })
      expectStatus(answer, 201)
      const transfer = await service.read(answer.json.id)
      assert.equal(transfer.destination.address_id, destination.address_id)
    }),
    'one transfer can be read by its id, and an unknown one is not found': async (service) => {
      const { id } = await service.created(await wireOnramp(service))
      assert.equal((await service.read(id)).id, id)
      for (const other of [unknownId, 'nonsense', `${id}0`]) {
        expectRefusal(await service.call('GET', service.at(`/transfers/${other}`)), 404)
      }
    },
    'a transfer of another client is not found': needing(['second'], async (service) => {
      const { id } = await service.created(await wireOnramp(service))
      const { stranger } = service
      expectRefusal(await stranger.call('GET', `/accounts/${stranger.accountId}/transfers/${id}`), 404)
      expectRefusal(await stranger.call('GET', service.at(`/transfers/${id}`)), 404)
    }),
    'a create answers with the whole transfer': needing(['settled'], async (service) => {
      const answer = await service.create(await wireOnramp(service))
      assert.deepEqual(answer.json, await service.read(answer.json.id))
    }),
  }),
  ...cases('Resources and their fields: Transfer', {
    'a transfer has the documented members': async (service) => {
      const body = { ...(await wireOnramp(service)), note: 'rent of May' }
      const transfer = await service.read((await service.created(body)).id)
      assert.match(transfer.id, idPattern)
      expectStrings(transfer as unknown as Record<string, unknown>, ['status', 'created_at', 'updated_at'])
      assert.equal(transfer.note, 'rent of May')
      assert.equal(transfer.automation_id, undefined)
      expectStrings(transfer.destination as unknown as Record<string, unknown>, ['value_type', 'transfer_type'])
    },
    'a note is optional': async (service) => {
      assert.equal((await service.created(await wireOnramp(service))).note ?? null, null)
    },
    'a create takes no payment_details and no transaction_id': async (service) => {
      const body = await wireOnramp(service)
      const details = { payment_details: { imad: '20261121MMQFMP9N000001' } }
      expectRefusal(await service.create({ ...body, source: { ...body.source, ...details } }), 422)
      expectRefusal(await service.create({ ...body, destination: { ...body.destination, ...details } }), 422)
      const hash = { transaction_id: `0x${'ab'.repeat(32)}` }
      expectRefusal(await service.create({ ...body, destination: { ...body.destination, ...hash } }), 422)
    },
    'source and destination need value_type and transfer_type, and all but an inbound wire an address': async (
      service,
    ) => {
      const body = await achDebit(service)
      for (const side of ['source', 'destination'] as const) {
        for (const member of ['address_id', 'value_type', 'transfer_type']) {
          const broken = { ...body, [side]: { ...body[side], [member]: undefined } }
          expectRefusal(await service.create(broken), 422)
        }
      }
      for (const member of ['amount', 'source', 'destination']) {
        expectRefusal(await service.create({ ...body, [member]: undefined }), 422)
      }
    },
    'a brand goes with ACH and with nothing else': needing(['simulations'], async (service) => {
      const brand = { account_id: service.accountId }
      expectStatus(await service.create({ ...(await achDebit(service)), brand }), 201)
      expectStatus(await service.create({ ...(await offramp(service, 'ach_credit')), brand }), 201)
      for (const body of [await wireOnramp(service), await offramp(service, 'wire'), await offramp(service, 'rtp')]) {
        expectRefusal(await service.create({ ...body, brand }), 422)
      }
    }),
    'a brand is an account of the client': needing(['second'], async (service) => {
      const brand = { account_id: service.stranger.accountId }
      expectRefusal(await service.create({ ...(await achDebit(service)), brand }), 422)
    }),
    'a wire memo goes with an outbound wire and with nothing else': needing(['simulations'], async (service) => {
      const body = await offramp(service, 'ach_credit')
      const destination = { ...body.destination, wire_memo: 'INV-42' }
      expectRefusal(await service.create({ ...body, destination }), 422)
    }),
    'an address must list the transfer type that it is used with': async (service) => {
      const bank = await service.register(bankAccount(['wire']))
      const body = await achDebit(service)
      expectRefusal(await service.create({ ...body, source: leg(bank, 'USD', 'ach_debit') }), 422)
    },
    'an address of another client cannot take part': needing(['second'], async (service) => {
      const path = `/accounts/${service.stranger.accountId}/addresses/external`
      const theirs = await service.stranger.call<{ id: string }>('POST', path, { body: bankAccount(['ach_debit']) })
      const body = await achDebit(service)
      expectRefusal(await service.create({ ...body, source: leg(theirs.json.id, 'USD', 'ach_debit') }), 422)
    }),
  }),
  ...cases('Resources and their fields: Wire instructions', {
    'an inbound wire comes with instructions': async (service) => {
      const { wire_instructions: instructions } = await service.created(await wireOnramp(service))
      expectStrings(instructions, wireInstructionMembers)
      assert.ok(['string', 'number'].includes(typeof instructions?.['routing_number']))
      assert.ok(instructions?.['memo'] === null || typeof instructions?.['memo'] === 'string')
    },
    'no other transfer has wire instructions': async (service) => {
      const { id } = await service.created(await achDebit(service))
      assert.equal((await service.read(id)).wire_instructions ?? null, null)
    },
  }),
  ...cases('Resources and their fields: Amount', {
    'an amount is a decimal string with its currency': async (service) => {
      const { amount } = await service.created(await wireOnramp(service, '1250.75'))
      assert.equal(typeof amount.value, 'string')
      assert.deepEqual([Number(amount.value), amount.currency], [1250.75, 'USD'])
    },
    'an amount that is no decimal string, not more than zero, or too precise is refused': needing(
      ['settled'],
      async (service) => {
        const body = await wireOnramp(service)
        for (const value of [12.5, '', '0', '0.00', '-1', '1e3', '1,000', ' 1', 'NaN', '0x10', '.5', '1.005', null]) {
          expectRefusal(await service.create({ ...body, amount: { value, currency: 'USD' } }), 422)
        }
        expectRefusal(await service.create({ ...body, amount: { value: '1', currency: 'XYZ' } }), 422)
        expectRefusal(await service.create({ ...body, amount: '1' }), 422)
      },
    ),
  }),
  ...cases('What the service does', {
    'what is no onramp, offramp, swap or payout is refused': async (service) => {
      const walletId = await service.wallet('base')
      const bank = await service.register(bankAccount(['wire', 'ach_credit', 'ach_debit']))
      const payee = await service.register(wallet(['base', 'polygon']))
      const amount = { value: '1', currency: 'USD' }
      const wrong = [
        { amount, source: inboundWire, destination: leg(bank, 'USD', 'wire') },
        { amount, source: leg(bank, 'USD', 'ach_credit'), destination: leg(walletId, 'USDC', 'base') },
        { amount, source: leg(walletId, 'USDC', 'base'), destination: leg(bank, 'USD', 'ach_debit') },
        { amount, source: leg(walletId, 'USDC', 'base'), destination: leg(walletId, 'SBC', 'polygon') },
        { amount, source: leg(payee, 'USDC', 'base'), destination: leg(walletId, 'USDC', 'base') },
        { amount, source: leg(walletId, 'USDC', 'base'), destination: leg(walletId, 'USDC', 'base') },
      ]
      for (const body of wrong) expectRefusal(await service.create(body), 422)
    },
  }),
]
