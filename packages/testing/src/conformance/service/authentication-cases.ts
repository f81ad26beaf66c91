import { strict as assert } from 'node:assert'
import { expectRefusal, expectStatus } from './assertions.ts'
import { wireOnramp } from './samples.ts'
import { cases, needing } from './service-case.ts'
import { requestToken } from './session.ts'

/** Tokens: how they are got, how they are refused. */
export const authenticationCases = cases('Authentication', {
  'client_credentials give a bearer token of about an hour': async (service) => {
    const { json, status } = await requestToken(service.tokenUrl, service.options, service.options.fetch)
    assert.equal(status, 200)
    assert.match(String(json['token_type']), /^bearer$/i)
    assert.equal(typeof json['access_token'], 'string')
    const lifetime = Number(json['expires_in'])
    assert.ok(lifetime > 0 && lifetime <= 7_200, String(lifetime))
  },
  'wrong credentials give no token': async (service) => {
    const { clientId } = service.options
    for (const client of [
      { clientId, clientSecret: 'a guess' },
      { clientId: 'nobody', clientSecret: service.options.clientSecret },
    ]) {
      const answer = await requestToken(service.tokenUrl, client, service.options.fetch)
      assert.ok([400, 401].includes(answer.status), answer.text)
      assert.equal(answer.json['access_token'], undefined)
    }
  },
  'every endpoint answers 401 to a request without a token or with a wrong one': async (service) => {
    const { at } = service
    const endpoints = [
      ['GET', at('')],
      ['GET', at('/transfers')],
      ['POST', at('/transfers')],
      ['POST', at('/transfer')],
      ['GET', at('/transfers/00000000000000000000000000')],
      ['GET', at('/addresses')],
      ['POST', at('/addresses/external')],
      ['GET', '/addresses'],
      ['PATCH', '/addresses/00000000000000000000000000'],
      ['GET', '/balances'],
      ['POST', '/accounts'],
      ['GET', at('/automations')],
      ['POST', at('/automations')],
      ['GET', at('/automations/00000000000000000000000000')],
      ['GET', at('/financial-institutions')],
      ['POST', at('/financial-institutions/external')],
      ['GET', at('/financial-institutions/00000000000000000000000000')],
      ['GET', at('/financial-institutions/00000000000000000000000000/status')],
      ['POST', at('/financial-institutions/00000000000000000000000000/update-link-token')],
      ['POST', at('/banklink/link_token')],
      ['POST', at('/financial-institutions/banklink/link_token')],
      ['POST', at('/financial-institutions/register-account')],
    ] as const
    for (const [method, path] of endpoints) {
      for (const token of [null, 'unknown']) {
        const body = method === 'GET' ? undefined : {}
        const answer = await service.call(method, path, { token, body })
        assert.equal(answer.status, 401, `${method} ${path}: ${answer.text}`)
      }
    }
  },
  'a token that is revoked or expired answers 401, and a new one with the same key goes on': needing(
    ['settled'],
    async (service) => {
      const { clientId, clientSecret } = service.options
      const granted = await requestToken(service.tokenUrl, service.options, service.options.fetch)
      const token = String(granted.json['access_token'])
      expectStatus(await service.call('GET', service.at(''), { token }), 200)
      const form = { token, client_id: clientId, client_secret: clientSecret }
      const revokeUrl = service.tokenUrl.replace(/token$/, 'revoke')
      await (service.options.fetch ?? fetch)(revokeUrl, { method: 'POST', body: new URLSearchParams(form) })
      const key = crypto.randomUUID()
      const body = await wireOnramp(service)
      expectRefusal(await service.create(body, { token, key }), 401)
      expectStatus(await service.create(body, { key }), 201)
    },
  ),
  'a token works for its own environment only': needing(['settled'], async (service) => {
    const wallet = { name: 'Elsewhere', address: `0x${'ab'.repeat(20)}`, transfer_types: ['base_sepolia'] }
    const answer = await service.call('POST', service.at('/addresses/external'), { body: wallet })
    expectRefusal(answer, 422)
  }),
})
