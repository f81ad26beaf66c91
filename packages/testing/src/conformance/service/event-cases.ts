import { strict as assert } from 'node:assert'
import { createHmac } from 'node:crypto'
import { expectRefusal, expectStatus, expectTimestamp } from './assertions.ts'
import { payout } from './samples.ts'
import { cases, needing } from './service-case.ts'
import type { ServiceSubject } from './subject.ts'
import { isSignedWith, startWebhookReceiver } from './webhook-receiver.ts'

interface Registration {
  readonly id: string
  readonly secret: string
}

const subscribe = async (service: ServiceSubject, url: string, eventTypes: readonly string[]) => {
  const body = { url, event_types: eventTypes }
  const answer = await service.call<Registration>('POST', service.at('/webhooks'), { body })
  expectStatus(answer, 201)
  return answer.json
}

const remove = async (service: ServiceSubject, { id }: Registration) => {
  expectStatus(await service.call('DELETE', service.at(`/webhooks/subscriptions/${id}`)), 204)
}

const complete = async (service: ServiceSubject): Promise<string> => {
  const { id } = await service.created(await payout(service))
  await service.reaches(id, 'processing')
  await service.advance(60)
  await service.reaches(id, 'complete')
  return id
}

const isAbout = (id: string, type: string) => (body: Readonly<Record<string, unknown>>) =>
  body['type'] === type && (body['data'] as { id?: unknown }).id === id

/** Events: signed webhooks. */
export const eventCases = cases('Events', {
  'transfer.completed is sent, signed, when a transfer is complete': needing(
    ['simulations', 'settled'],
    async (service) => {
      await using receiver = await startWebhookReceiver(service.options.patienceMs)
      const registration = await subscribe(service, receiver.url, ['transfer.completed'])
      const id = await complete(service)
      const webhook = await receiver.waitFor(isAbout(id, 'transfer.completed'))
      const event = JSON.parse(webhook.body) as { id: string; created: string; data: unknown }
      assert.deepEqual(event.data, JSON.parse(JSON.stringify(await service.read(id))))
      expectTimestamp(event.created)
      assert.equal(webhook.headers['webhook-id'], event.id)
      assert.ok(isSignedWith(registration.secret, webhook))
      assert.ok(!isSignedWith(`whsec_${Buffer.alloc(32).toString('base64')}`, webhook))
      assert.ok(!isSignedWith(registration.secret, { ...webhook, body: `${webhook.body} ` }))
      const key = Buffer.from(registration.secret.slice('whsec_'.length), 'base64')
      const hex = createHmac('sha256', key).update(webhook.body).digest('hex')
      assert.equal(webhook.headers['x-request-signature-sha-256'], hex)
      assert.equal(receiver.received.length, 1)
      await remove(service, registration)
    },
  ),
  'a webhook gets the kinds of event that it asked for': needing(['simulations', 'settled'], async (service) => {
    await using receiver = await startWebhookReceiver(service.options.patienceMs)
    const registration = await subscribe(service, receiver.url, ['transfer.*'])
    const id = await complete(service)
    for (const type of ['transfer.created', 'transfer.processing', 'transfer.completed']) {
      await receiver.waitFor(isAbout(id, type))
    }
    await remove(service, registration)
  }),
  'the secret of a webhook is shown once': needing(['settled'], async (service) => {
    const registration = await subscribe(service, 'http://127.0.0.1:9/nowhere', ['*'])
    assert.match(registration.secret, /^whsec_/)
    const read = await service.call('GET', service.at(`/webhooks/subscriptions/${registration.id}`))
    const list = await service.call('GET', service.at('/webhooks'))
    assert.ok(!`${read.text}${list.text}`.includes(registration.secret))
    await remove(service, registration)
    expectRefusal(await service.call('GET', service.at(`/webhooks/subscriptions/${registration.id}`)), 404)
  }),
  'an event of one client is not sent to another': needing(['simulations', 'second', 'settled'], async (service) => {
    await using receiver = await startWebhookReceiver(service.options.patienceMs)
    const { stranger } = service
    const path = `/accounts/${stranger.accountId}/webhooks`
    const body = { url: receiver.url, event_types: ['*'] }
    const theirs = await stranger.call<Registration>('POST', path, { body })
    await using ours = await startWebhookReceiver(service.options.patienceMs)
    const own = await subscribe(service, ours.url, ['transfer.completed'])
    const id = await complete(service)
    await ours.waitFor(isAbout(id, 'transfer.completed'))
    assert.deepEqual(receiver.received, [])
    expectRefusal(await service.call('GET', service.at(`/webhooks/subscriptions/${theirs.json.id}`)), 404)
    await stranger.call('DELETE', `${path}/subscriptions/${theirs.json.id}`)
    await remove(service, own)
  }),
})
