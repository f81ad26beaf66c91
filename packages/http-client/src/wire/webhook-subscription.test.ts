import { expect, test } from 'vitest'
import {
  decodeEventTypes,
  decodeResent,
  decodeWebhookDelivery,
  decodeWebhookSubscription,
} from './webhook-subscription.ts'

test('a complete subscription is read', () => {
  const sent = {
    id: 'w',
    account_id: 'a',
    url: 'https://example.com/hook',
    event_types: ['transfer.*'],
    status: 'disabled',
    disabled_reason: 'gone',
    created: '2026-01-02T03:04:05.678Z',
    updated: '2026-01-02T03:05:05.678Z',
  }
  const subscription = decodeWebhookSubscription(sent)
  expect(subscription).toEqual({
    id: 'w',
    url: 'https://example.com/hook',
    eventTypes: ['transfer.*'],
    status: 'disabled',
    disabledReason: 'gone',
    created: '2026-01-02T03:04:05.678Z',
    updated: '2026-01-02T03:05:05.678Z',
  })
  expect(subscription.raw).toBe(sent)
})

test('a pending delivery has no last attempt', () => {
  const delivery = {
    id: 7,
    subscription_id: 'w',
    event_id: 'e',
    event_type: 'transfer.completed',
    status: 'pending',
    attempts: 0,
    last_status: null,
    last_error: null,
    last_attempt_at: null,
    next_attempt_at: '2026-01-02T03:04:05.678Z',
    created: '2026-01-02T03:04:05.678Z',
  }
  expect(decodeWebhookDelivery(delivery)).toEqual({
    id: '7',
    subscriptionId: 'w',
    eventId: 'e',
    eventType: 'transfer.completed',
    status: 'pending',
    attempts: 0,
    nextAttemptAt: '2026-01-02T03:04:05.678Z',
    created: '2026-01-02T03:04:05.678Z',
  })
})

test('event types may be wrapped or bare', () => {
  expect(decodeEventTypes({ event_types: ['transfer.completed'] })).toEqual(['transfer.completed'])
  expect(decodeEventTypes(['transfer.completed'])).toEqual(['transfer.completed'])
  expect(() => decodeEventTypes({ event_types: [1] })).toThrow('event_types')
})

test('an answer to a resend may omit the number of deliveries', () => {
  expect(decodeResent({ event_id: 'e', deliveries: 2 })).toBe(2)
  expect(decodeResent(undefined)).toBeUndefined()
})

test('a record without its id is unreadable', () => {
  expect(() => decodeWebhookSubscription({ url: 'https://example.com' })).toThrow('id')
  expect(() => decodeWebhookDelivery({ status: 'pending' })).toThrow('id')
  expect(() => decodeWebhookDelivery([])).toThrow('delivery')
})

test('the forms of the public contract are read', () => {
  const subscription = { id: 'w', url: 'https://example.com/hook', events: ['transfer.*'], status: 'archived' }
  expect(decodeWebhookSubscription(subscription)).toMatchObject({ eventTypes: ['transfer.*'], status: 'archived' })
  expect(decodeEventTypes([{ event_type: 'transfer.completed', summary: 'A transfer completed.' }])).toEqual([
    'transfer.completed',
  ])
  expect(() => decodeEventTypes([{ summary: 'A transfer completed.' }])).toThrow('event_types')
  expect(decodeWebhookDelivery({ id: 'd', attempt_number: 3, status_code: 503 })).toMatchObject({
    attempts: 3,
    attemptNumber: 3,
    lastStatus: 503,
  })
})
