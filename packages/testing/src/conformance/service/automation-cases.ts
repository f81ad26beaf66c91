import { strict as assert } from 'node:assert'
import { expectRefusal, expectStatus, expectStrings, expectTimestamp, idPattern, unknownId } from './assertions.ts'
import type { AutomationRecord, TransferPage } from './records.ts'
import { bankAccount, leg, newAccount } from './samples.ts'
import { cases, needing } from './service-case.ts'
import type { ServiceSubject } from './subject.ts'

const onramp = async (service: ServiceSubject, name = 'Deposits') => ({
  name,
  source: { value_type: 'USD' },
  destination: leg(await service.wallet('base'), 'USDC', 'base'),
})

const create = async (service: ServiceSubject, body: unknown): Promise<AutomationRecord> => {
  const answer = await service.call<AutomationRecord>('POST', service.at('/automations'), { body })
  expectStatus(answer, 201)
  return answer.json
}

const read = async (service: ServiceSubject, id: string): Promise<AutomationRecord> => {
  const answer = await service.call<AutomationRecord>('GET', service.at(`/automations/${id}`))
  expectStatus(answer, 200)
  return answer.json
}

const instructionsOf = ({ source, wire_instructions }: AutomationRecord) =>
  source?.funding_instructions ?? wire_instructions ?? undefined

/** Waits until an automation has its virtual account; both spellings of the final status count. */
const active = (service: ServiceSubject, id: string): Promise<AutomationRecord> =>
  service.waitFor('the automation to be ready', async () => {
    const automation = await read(service, id)
    return ['active', 'complete', 'completed'].includes(automation.status) ? automation : undefined
  })

/** Lets a payment reach a virtual account, and gives the transfer that it made. */
const deposit = async (service: ServiceSubject, automation: AutomationRecord, rail: 'wires' | 'ach-credits') => {
  const accountNumber = instructionsOf(automation)?.['account_number']
  const body = { account_number: accountNumber, amount: '75.50', sender_name: 'Globex' }
  const answer = await service.call('POST', `/simulations/${rail}`, { body })
  expectStatus(answer, 202)
  return service.waitFor('the transfer of the deposit', async () => {
    const query = { automation_id: automation.id }
    const { json } = await service.call<TransferPage>('GET', service.at('/transfers'), { query })
    return json.transfers[0]
  })
}

const complete = async (service: ServiceSubject, transferId: string) => {
  await service.reaches(transferId, 'processing')
  await service.advance(60)
  return service.reaches(transferId, 'complete')
}

const instructionMembers = [
  'beneficiary_name',
  'bank_name',
  'bank_address',
  'beneficiary_address',
  'routing_number',
  'account_number',
]

/** Automations: virtual accounts whose deposits become transfers. */
export const automationCases = [
  ...cases('Resources and their fields: Automation', {
    'an automation has the documented members': async (service) => {
      const automation = await create(service, await onramp(service, 'Payroll'))
      assert.match(automation.id, idPattern)
      assert.equal(automation.name, 'Payroll')
      expectTimestamp(automation.created_at)
      expectTimestamp(automation.updated_at)
      const { address_id: addressId, value_type: valueType, transfer_type: transferType } = automation.destination ?? {}
      assert.deepEqual([addressId, valueType, transferType], [await service.wallet('base'), 'USDC', 'base'])
    },
    'a brand is the beneficiary of the funding instructions': needing(['settled'], async (service) => {
      const { json: brand } = await service.call('POST', '/accounts', { body: newAccount })
      const body = { ...(await onramp(service)), brand: { account_id: brand['id'] } }
      const { id } = await create(service, body)
      const automation = await active(service, id)
      assert.equal(instructionsOf(automation)?.['beneficiary_name'], newAccount.business_name)
      // The public contract has it in the answer, the specification in the request only.
      if (service.options.dialect !== 'public') assert.equal((automation as { brand?: unknown }).brand, undefined)
    }),
    'a brand that the client may not use is refused': needing(['second'], async (service) => {
      const body = { ...(await onramp(service)), brand: { account_id: service.stranger.accountId } }
      expectRefusal(await service.call('POST', service.at('/automations'), { body }), 422)
    }),
  }),
  ...cases('States and transitions: Automation statuses', {
    'an automation is pending, then processing or ready': async (service) => {
      const automation = await create(service, await onramp(service))
      assert.equal(automation.status, 'pending')
      assert.equal(automation.source?.transfer_type, null)
      assert.equal(automation.source?.funding_instructions ?? null, null)
      assert.ok(['pending', 'processing', 'active', 'complete'].includes((await read(service, automation.id)).status))
    },
    'a ready automation has its funding instructions': async (service) => {
      const { id } = await create(service, await onramp(service))
      const automation = await active(service, id)
      const instructions = instructionsOf(automation)
      expectStrings(instructions, instructionMembers)
      assert.ok(instructions?.['memo'] === null || typeof instructions?.['memo'] === 'string')
    },
    'the status of a ready automation is active': needing(['settled'], async (service) => {
      const { id } = await create(service, await onramp(service))
      assert.equal((await active(service, id)).status, 'active')
    }),
  }),
  ...cases('Endpoints: Automations', {
    'automations are listed and read': async (service) => {
      const { id } = await create(service, await onramp(service))
      const list = await service.call<{ automations: AutomationRecord[] }>('GET', service.at('/automations'))
      expectStatus(list, 200)
      assert.ok(list.json.automations.some((one) => one.id === id))
      assert.equal((await read(service, id)).id, id)
      expectRefusal(await service.call('GET', service.at(`/automations/${unknownId}`)), 404)
    },
    'a create needs an idempotency key and makes one automation per key': async (service) => {
      const body = await onramp(service)
      expectRefusal(await service.call('POST', service.at('/automations'), { body, key: null }), 400)
      const key = crypto.randomUUID()
      const first = await service.call('POST', service.at('/automations'), { body, key })
      const second = await service.call('POST', service.at('/automations'), { body, key })
      expectStatus(second, 201)
      assert.deepEqual(second.json, first.json)
    },
    'an automation of another client is not found': needing(['second'], async (service) => {
      const { id } = await create(service, await onramp(service))
      const { stranger } = service
      expectRefusal(await stranger.call('GET', `/accounts/${stranger.accountId}/automations/${id}`), 404)
    }),
    'offramp and swap automations are not available': async (service) => {
      const body = await onramp(service)
      const bank = await service.register(bankAccount(['wire']))
      for (const source of [{ value_type: 'USDC' }, {}, { value_type: 'MXN' }]) {
        expectRefusal(await service.call('POST', service.at('/automations'), { body: { ...body, source } }), 422)
      }
      const destination = leg(bank, 'USD', 'wire')
      expectRefusal(await service.call('POST', service.at('/automations'), { body: { ...body, destination } }), 422)
    },
    'money that comes in, by wire or by ACH, becomes a transfer that mints': needing(
      ['simulations'],
      async (service) => {
        for (const rail of ['wires', 'ach-credits'] as const) {
          const { id } = await create(service, await onramp(service))
          const automation = await active(service, id)
          const made = await deposit(service, automation, rail)
          const transfer = await complete(service, made.id)
          assert.equal(transfer.automation_id, id)
          assert.equal(Number(transfer.amount.value), 75.5)
          assert.equal(transfer.source.value_type, 'USD')
          assert.equal(typeof transfer.source.financial_institution_id, 'string')
          assert.equal(transfer.destination.address_id, await service.wallet('base'))
          assert.equal(transfer.source.payment_details?.['sender_name'], 'Globex')
        }
      },
    ),
    'an automation that is disabled mints nothing': needing(['simulations', 'settled'], async (service) => {
      const { id } = await create(service, await onramp(service))
      const automation = await active(service, id)
      const path = service.at(`/automations/${id}`)
      expectStatus(await service.call('PATCH', path, { body: { status: 'disabled' } }), 200)
      const body = { account_number: instructionsOf(automation)?.['account_number'], amount: '5.00' }
      const answer = await service.call('POST', '/simulations/wires', { body })
      assert.equal(answer.json['status'], 'returned', answer.text)
      const query = { automation_id: id }
      const { json } = await service.call<TransferPage>('GET', service.at('/transfers'), { query })
      assert.deepEqual(json.transfers, [])
    }),
  }),
]
