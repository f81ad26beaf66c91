import { testDatabase } from '@outlay/testing/vitest'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type TestAutomations, testAutomations } from '../../test/automations.ts'
import { inspect } from '../../test/inspection.ts'
import { type TestSandbox, testSandbox } from '../../test/sandbox.ts'
import type { AutomationResource } from '../automations/automations.ts'

const database = await testDatabase({ role: 'ordinary' })
let [a, b]: TestSandbox[] = []
let calls: TestAutomations
let automation: AutomationResource
beforeAll(async () => {
  a = await testSandbox(database.url)
  b = await testSandbox(database.url)
  calls = testAutomations(a)
  automation = await calls.open()
})
afterAll(() => Promise.all([a?.stop(), b?.stop()]))

const depositOf = (api: TestSandbox | undefined, amount: string, reference: string) =>
  api?.call<{ id: string; code?: string }>('POST', '/simulations/deposits', {
    body: {
      ...{ account_id: api.accountId, address_id: api.walletId, value_type: 'USDC', transfer_type: 'base' },
      ...{ amount, reference },
    },
  })

it('clients that make up the same reference for a deposit do not learn of each other', async () => {
  const first = await depositOf(a, '5', '0xshared')
  const second = await depositOf(b, '7', '0xshared')
  expect([first?.status, second?.status]).toEqual([201, 201])
  expect(second?.body.id).not.toBe(first?.body.id)
  expect((await depositOf(b, '7', '0xshared'))?.body).toEqual(second?.body)
  const reused = await depositOf(b, '8', '0xshared')
  expect(reused).toMatchObject({
    status: 409,
    body: { code: 'conflict', errors: [{ source: { pointer: '/reference' } }] },
  })
})

it('however often a client reuses a reference, one exception is stored, and nothing is credited', async () => {
  const first = await depositOf(a, '5', '0xreused')
  const answers = [await depositOf(a, '6', '0xreused'), await depositOf(a, '7.5', '0xreused')]
  answers.push(await depositOf(a, '6', '0xreused'))
  const otherWallet = { ...a, walletId: a?.otherWallet.addressId } as TestSandbox
  answers.push(await depositOf(otherWallet, '5', '0xreused'))
  expect(new Set(answers.map((one) => one?.status))).toEqual(new Set([409]))
  expect((await depositOf(a, 'five', '0xreused'))?.body.code).toBe('invalid_amount')
  expect(await depositOf(a, '5.00', '0xreused')).toMatchObject({ status: 201, body: { id: first?.body.id } })
  const { pool, schema } = a?.sandbox.service.context ?? {}
  if (pool === undefined) throw new Error('The sandbox does not run.')
  const { rows } = await inspect(pool).query(
    `select exception_reason, amount_value from ${schema}.rail_fact where reference like '%/0xreused' order by id`,
  )
  expect(rows).toEqual([
    { exception_reason: null, amount_value: '5' },
    { exception_reason: 'reference_reused', amount_value: '6' },
  ])
})

it('a reference of a deposit has 1 to 200 characters', async () => {
  expect((await depositOf(a, '5', 'r'.repeat(200)))?.status).toBe(201)
  for (const reference of ['', 'r'.repeat(201)]) {
    expect(await depositOf(a, '5', reference)).toMatchObject({
      status: 422,
      body: { errors: [{ source: { pointer: '/reference' } }] },
    })
  }
})

it.each(['wire', 'ach', 'path'] as const)(
  'a payment by %s to a virtual account with a used reference is the same one, and another amount is refused',
  async (way) => {
    const send = (amount: string) => {
      const body = { amount, reference: `INV-${way}` }
      if (way !== 'path') return calls[way](automation, body)
      const path = `/accounts/${a?.accountId}/automations/${automation.id}/simulations/deposits`
      return a?.call('POST', path, { body: { ...body, transfer_type: 'ach_credit' } })
    }
    const first = await send('10.00')
    expect(first).toMatchObject({ status: 202 })
    expect(await send('10')).toMatchObject({
      status: 202,
      body: { bank_reference: first?.body['bank_reference' as never] },
    })
    expect(await send('11.00')).toMatchObject({
      status: 409,
      body: { code: 'conflict', errors: [{ source: { pointer: '/reference' } }] },
    })
  },
)

it('a virtual account of another client is answered as one that does not exist', async () => {
  const refusalOf = async (path: string, account_number: string) => {
    const { status, body } = (await b?.call('POST', path, { body: { account_number, amount: '10.00' } })) ?? {}
    const { request_id: _, ...problem } = body ?? {}
    return { status, problem }
  }
  const foreign = calls.accountNumberOf(automation)
  for (const path of ['/simulations/wires', '/simulations/ach-credits']) {
    const unknown = await refusalOf(path, '900000000000')
    expect(unknown.status).toBe(404)
    expect(await refusalOf(path, foreign)).toEqual(unknown)
  }
})
