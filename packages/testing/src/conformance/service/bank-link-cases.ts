import { strict as assert } from 'node:assert'
import { expectRefusal, expectStatus, expectStrings, expectTimestamp, unknownId } from './assertions.ts'
import { listInstitutions, readInstitutionStatus } from './financial-institution-cases.ts'
import { leg, newAccountNumber } from './samples.ts'
import { cases, needing } from './service-case.ts'
import type { ServiceSubject } from './subject.ts'
import { startWebhookReceiver } from './webhook-receiver.ts'

const person = {
  legal_name: 'Ada Roe',
  email_address: 'ada@roe.example',
  phone_number: '+12175550100',
  date_of_birth: '1980-02-29',
}

const paths = ['/banklink/link_token', '/financial-institutions/banklink/link_token']

const linkToken = async (service: ServiceSubject): Promise<string> => {
  const answer = await service.call('POST', service.at('/banklink/link_token'), { body: person })
  expectStatus(answer, 200)
  return String(answer.json['link_token'])
}

/** Goes through the provider's flow, which a sandbox simulates. */
const publicToken = async (service: ServiceSubject, token: string, accounts?: unknown): Promise<string> => {
  const path = `/simulations/bank-links/${token}/complete`
  const answer = await service.call('POST', path, { body: accounts === undefined ? {} : { accounts } })
  expectStatus(answer, 201)
  return String(answer.json['public_token'])
}

const register = (service: ServiceSubject, token: string, url?: string) => {
  const body = { public_token: token, ...(url === undefined ? {} : { customer_webhook_url: url }) }
  return service.call('POST', service.at('/financial-institutions/register-account'), { body })
}

const link = async (service: ServiceSubject, url?: string): Promise<string> => {
  const answer = await register(service, await publicToken(service, await linkToken(service)), url)
  assert.ok(answer.status === 200 || answer.status === 201, answer.text)
  return String(answer.json['financial_institution_id'])
}

const debit = async (service: ServiceSubject, institutionId: string) => ({
  amount: { value: '20.00', currency: 'USD' },
  source: leg(institutionId, 'USD', 'ach_debit'),
  destination: leg(await service.wallet('base'), 'USDC', 'base'),
})

/** Bank linking, steps 1 to 5. Step 2 and the report of step 5 happen at the provider, which a sandbox simulates. */
export const bankLinkCases = [
  ...cases('Endpoints: Bank-linking', {
    'a link token comes with its expiration and the address of the callback, at both paths': async (service) => {
      for (const path of paths) {
        const answer = await service.call('POST', service.at(path), { body: person })
        expectStatus(answer, 200)
        expectStrings(answer.json, ['link_token', 'expiration', 'callback_url'])
        expectTimestamp(answer.json['expiration'])
        assert.ok(URL.canParse(String(answer.json['callback_url'])))
      }
    },
    'every member of the person is optional, and text': async (service) => {
      for (const body of [{}, { legal_name: 'Ada Roe' }, { date_of_birth: '1980-02-29' }]) {
        expectStatus(await service.call('POST', service.at('/banklink/link_token'), { body }), 200)
      }
      for (const body of [{ legal_name: 5 }, { date_of_birth: '29.02.1980' }]) {
        expectRefusal(await service.call('POST', service.at('/banklink/link_token'), { body }), 422)
      }
    },
    'a public token becomes an institution that an ACH debit can pull from': needing(
      ['simulations'],
      async (service) => {
        const id = await link(service)
        const listed = (await listInstitutions(service)).find((one) => one.id === id)
        assert.ok(listed?.transfer_type?.includes('ach_debit'), JSON.stringify(listed))
        const { id: transferId } = await service.created(await debit(service, id))
        await service.reaches(transferId, 'processing')
      },
    ),
    'there is an institution per selected bank account': needing(['simulations', 'settled'], async (service) => {
      const before = (await listInstitutions(service)).length
      const numbers = [newAccountNumber(), newAccountNumber()]
      const selected = numbers.map((accountNumber) => ({ account_number: accountNumber }))
      await register(service, await publicToken(service, await linkToken(service), selected))
      const after = await listInstitutions(service)
      assert.equal(after.length, before + 2)
    }),
    'registering a bank account again updates it and keeps its id': needing(['simulations'], async (service) => {
      const selected = [{ account_number: newAccountNumber() }]
      const ids = new Set<unknown>()
      for (let count = 0; count < 2; count += 1) {
        const token = await publicToken(service, await linkToken(service), selected)
        ids.add((await register(service, token)).json['financial_institution_id'])
      }
      assert.equal(ids.size, 1)
    }),
    'a public token that is unknown or of another client is refused, and a used one gives the same institution again':
      needing(['simulations', 'second', 'settled'], async (service) => {
        expectRefusal(await register(service, 'public-unknown'), 422)
        const token = await publicToken(service, await linkToken(service))
        const { stranger } = service
        const theirs = `/accounts/${stranger.accountId}/financial-institutions/register-account`
        expectRefusal(await stranger.call('POST', theirs, { body: { public_token: token } }), 422)
        const first = await register(service, token)
        assert.ok(first.status === 200 || first.status === 201, first.text)
        assert.deepEqual((await register(service, token)).json, first.json)
      }),
    'registering needs an idempotency key': needing(['settled'], async (service) => {
      const call = { body: { public_token: 'unknown' }, key: null }
      expectRefusal(await service.call('POST', service.at('/financial-institutions/register-account'), call), 400)
    }),
    'an institution that needs its owner is renewed by the same steps and keeps its id': needing(
      ['simulations', 'settled'],
      async (service) => {
        const id = await link(service)
        const path = `/simulations/financial-institutions/${id}/login-required`
        expectStatus(await service.call('POST', path, { body: {} }), 202)
        assert.equal((await readInstitutionStatus(service, id)).json['needs_update'], true)
        expectRefusal(await service.create(await debit(service, id)), 422)
        const update = service.at(`/financial-institutions/${id}/update-link-token`)
        const opened = await service.call('POST', update, { body: {} })
        expectStatus(opened, 200)
        const renewed = await publicToken(service, String(opened.json['link_token']))
        const answer = await register(service, renewed)
        assert.equal(answer.json['financial_institution_id'], id)
        const { json } = await readInstitutionStatus(service, id)
        assert.deepEqual([json['status'], json['needs_update']], ['active', false])
        await service.created(await debit(service, id))
      },
    ),
    'an update of an unknown institution is not found': async (service) => {
      const path = service.at(`/financial-institutions/${unknownId}/update-link-token`)
      expectRefusal(await service.call('POST', path, { body: {} }), 404)
    },
  }),
  ...cases('Events', {
    'the notice of re-authentication goes to the customer_webhook_url': needing(['simulations'], async (service) => {
      await using receiver = await startWebhookReceiver(service.options.patienceMs)
      const id = await link(service, receiver.url)
      const path = `/simulations/financial-institutions/${id}/login-required`
      expectStatus(await service.call('POST', path, { body: { reason: 'The password changed.' } }), 202)
      const { body } = await receiver.waitFor((notice) => notice['financial_institution_id'] === id)
      const notice = JSON.parse(body) as Record<string, unknown>
      assert.equal(notice['event_type'], 'ITEM_LOGIN REQUIRED')
      assert.equal(notice['reason'], 'The password changed.')
      expectTimestamp(notice['timestamp'])
    }),
  }),
]
