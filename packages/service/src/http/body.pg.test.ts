import { expect, it } from 'vitest'
import { serviceDatabase } from '../../test/database.ts'
import { sampleAccount, testContext, testService } from '../../test/service.ts'

const { pool } = await serviceDatabase()
const service = testService(testContext({ pool }))
const { token } = await service.signIn()

const create = (key: string, body: string | Uint8Array<ArrayBuffer>, announced = true) =>
  service.fetch(
    new Request('http://test/accounts', {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        'idempotency-key': key,
        ...(announced ? { 'content-length': String(Buffer.byteLength(body)) } : {}),
      },
      body,
    }),
  )
const text = JSON.stringify(sampleAccount)

it.each([true, false])('refuses a body that is not UTF-8 instead of guessing it, announced: %s', async (announced) => {
  const octets = new Uint8Array(Buffer.from(text.replace('Acme', 'Acm\u00e9'), 'latin1'))
  const answer = await create(`latin1-${announced}`, octets, announced)
  expect(answer.status).toBe(400)
  expect(await answer.json()).toMatchObject({ code: 'invalid_request', detail: 'The body is not UTF-8.' })
})

it.each([
  ['at the top', text.replace('{', '{"business_name":"Other",')],
  ['spelled with an escape', text.replace('{', '{"business\\u005fname":"Other",')],
  ['further down', text.replace('"city":"Springfield"', '"city":"Shelbyville","city":"Springfield"')],
])('refuses a member that is there twice, %s', async (place, body) => {
  const answer = await create(place.replaceAll(' ', '-'), body)
  expect(answer.status).toBe(400)
  expect(await answer.json()).toMatchObject({ detail: 'A member is there more than once.' })
})

it.each([
  ['with another value', { businessName: 'Other' }],
  ['with the same value', { businessName: sampleAccount.business_name }],
  ['as null', { businessName: null }],
  ['further down', { address: { ...sampleAccount.address, streetLine1: '2 Main Street' } }],
])('refuses a member that is there in both spellings, %s', async (place, more) => {
  const answer = await create(`both ${place}`.replaceAll(' ', '-'), JSON.stringify({ ...sampleAccount, ...more }))
  expect(answer.status).toBe(400)
  expect(await answer.json()).toMatchObject({ detail: 'A member is there in both spellings.' })
})

const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, 1]))

it.each([
  ['members', many(20_000)],
  ['members of many objects', Array.from({ length: 1_500 }, () => many(3))],
  ['items', Array.from({ length: 100_000 }, () => 1)],
])('refuses too many %s before they are checked one by one', async (what, more) => {
  const answer = await create(`many ${what}`.replaceAll(' ', '-'), JSON.stringify({ ...sampleAccount, more }))
  expect(answer.status).toBe(400)
  expect(await answer.json()).toMatchObject({ detail: 'The body has more than 5000 members and items.' })
})

it('accepts an account with as many owners as it may have', async () => {
  const [owner] = sampleAccount.ultimate_beneficial_owners
  const body = { ...sampleAccount, ultimate_beneficial_owners: Array.from({ length: 100 }, () => owner) }
  expect((await create('owners', JSON.stringify(body))).status).toBe(201)
})

it('accepts strings with what stands between members, and members of equal names in two objects', async () => {
  const hostile = { ...sampleAccount, business_name: 'a": {"b": "c\\" : [1] \\', more: [{ a: ':' }, { a: '"' }] }
  const answer = await create('hostile', JSON.stringify(hostile))
  expect(answer.status).toBe(201)
  expect(await answer.json()).toMatchObject({ business_name: hostile.business_name })
})
