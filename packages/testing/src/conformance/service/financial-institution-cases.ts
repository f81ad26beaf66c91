import { strict as assert } from 'node:assert'
import { expectRefusal, expectStatus, expectStrings, expectTimestamp, unknownId } from './assertions.ts'
import type { InstitutionRecord } from './records.ts'
import { bankAccount, leg, newAccountNumber, postalAddress } from './samples.ts'
import { cases, needing } from './service-case.ts'
import type { Answer } from './session.ts'
import type { ServiceSubject } from './subject.ts'

const olderForm = (accountNumber = newAccountNumber()) => ({
  owner: 'Roe Supplies LLC',
  account_number: accountNumber,
  routing_number: '021000021',
  beneficiary_address: postalAddress,
  bank_address: postalAddress,
  account_type: 'checking',
})

const register = (service: ServiceSubject, body: unknown, key?: string | null) =>
  service.call<InstitutionRecord>('POST', service.at('/financial-institutions/external'), { body, key })

/** Institutions of the list. */
export const listInstitutions = async (service: ServiceSubject): Promise<readonly InstitutionRecord[]> => {
  const path = service.at('/financial-institutions')
  const answer = await service.call<{ financial_institutions: InstitutionRecord[] }>('GET', path)
  expectStatus(answer, 200)
  return answer.json.financial_institutions
}

/** How an institution stands. */
export const readInstitutionStatus = async (service: ServiceSubject, id: string): Promise<Answer> => {
  const answer = await service.call('GET', service.at(`/financial-institutions/${id}/status`))
  expectStatus(answer, 200)
  return answer
}

/** Financial institutions, the older form of bank addresses. */
export const financialInstitutionCases = [
  ...cases('Resources and their fields: Financial institution', {
    'an institution has the documented members': async (service) => {
      const number = newAccountNumber()
      expectStatus(await register(service, olderForm(number)), 201)
      const found = (await listInstitutions(service)).find(({ bank_details: details }) =>
        String(details['account_number']).endsWith(number.slice(-4)),
      )
      assert.ok(found)
      expectStrings(found as unknown as Record<string, unknown>, ['id', 'name', 'status'])
      expectStrings(found.bank_details, ['owner', 'account_number', 'account_type'])
      assert.ok(['string', 'number'].includes(typeof found.bank_details['routing_number']))
    },
    'an institution that was entered by hand has both of its addresses': needing(['settled'], async (service) => {
      const beneficiary = { ...postalAddress, city: 'Shelbyville' }
      const { json } = await register(service, { ...olderForm(), beneficiary_address: beneficiary })
      assert.deepEqual(json.bank_details['bank_address'], postalAddress)
      assert.deepEqual(json.bank_details['beneficiary_address'], beneficiary)
    }),
    'an account number is shown by its last four digits': needing(['settled'], async (service) => {
      const { json } = await register(service, olderForm('445566778877'))
      assert.equal(json.bank_details['account_number'], '****8877')
      const read = await service.call<InstitutionRecord>('GET', service.at(`/financial-institutions/${json.id}`))
      assert.deepEqual(read.json, json)
    }),
    'a routing number may be sent as a number': needing(['settled'], async (service) => {
      const answer = await register(service, { ...olderForm(), routing_number: 21000021 })
      expectStatus(answer, 201)
      assert.equal(answer.json.bank_details['routing_number'], '021000021')
    }),
  }),
  ...cases('States and transitions: Financial institution status', {
    'an institution is active': needing(['settled'], async (service) => {
      const { json } = await register(service, olderForm())
      assert.equal(json.status, 'active')
      const { json: state } = await readInstitutionStatus(service, json.id)
      assert.deepEqual([state['status'], state['needs_update']], ['active', false])
      assert.equal(state['financial_institution_id'], json.id)
      expectTimestamp(state['last_updated'])
    }),
  }),
  ...cases('Endpoints: Financial institutions', {
    'a bank address is an institution, and an institution is a bank address': needing(['settled'], async (service) => {
      const id = await service.register(bankAccount(['ach_credit']))
      assert.ok((await listInstitutions(service)).some((one) => one.id === id))
      const { json } = await register(service, olderForm())
      const amount = { value: '12.00', currency: 'USD' }
      const destination = leg(await service.wallet('base'), 'USDC', 'base')
      await service.created({ amount, source: leg(json.id, 'USD', 'ach_debit'), destination })
    }),
    'a create needs an idempotency key and makes one institution per key': needing(['settled'], async (service) => {
      expectRefusal(await register(service, olderForm(), null), 400)
      const [body, key] = [olderForm(), crypto.randomUUID()]
      const first = await register(service, body, key)
      assert.equal((await register(service, body, key)).text, first.text)
    }),
    'a create without a member is refused': async (service) => {
      for (const member of ['owner', 'account_number', 'routing_number']) {
        expectRefusal(await register(service, { ...olderForm(), [member]: undefined }), 422)
      }
    },
    'an unknown institution and one of another client are not found': needing(['second'], async (service) => {
      const id = await service.register(bankAccount(['wire']))
      const { stranger } = service
      for (const path of [id, `${id}/status`]) {
        const answer = await stranger.call('GET', `/accounts/${stranger.accountId}/financial-institutions/${path}`)
        expectRefusal(answer, 404)
      }
      for (const path of [unknownId, `${unknownId}/status`]) {
        expectRefusal(await service.call('GET', service.at(`/financial-institutions/${path}`)), 404)
      }
    }),
  }),
]
