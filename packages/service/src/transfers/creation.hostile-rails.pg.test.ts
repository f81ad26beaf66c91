import { testDatabase } from '@outlay/testing/vitest'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { type TestSandbox, testSandbox } from '../../test/sandbox.ts'
import type { Rails } from '../rails/port.ts'
import type { TransferResource } from './view.ts'

// What a rail answers about a transfer that does not exist yet is stored with it, or shown.

const database = await testDatabase({ role: 'ordinary' })
let api: TestSandbox
beforeAll(async () => {
  api = await testSandbox(database.url)
})
afterAll(() => api.stop())

const halves = 'a\u0000b\ud800c'
const clean = 'a\ufffdb\ufffdc'
const expectWire = () => {
  const source = { value_type: 'USD', transfer_type: 'wire' }
  const destination = { address_id: api.walletId, value_type: 'USDC', transfer_type: 'base' }
  const body = { amount: { value: '9', currency: 'USD' }, source, destination }
  return api.call<TransferResource & { code?: string; detail?: string }>(
    'POST',
    `/accounts/${api.accountId}/transfers`,
    {
      body,
    },
  )
}
const change = (members: Partial<Rails>) => {
  const { rails } = api.sandbox.service.context
  const { validate, wireInstructions } = rails
  Object.assign(rails, members)
  onTestFinished(() => void Object.assign(rails, { validate, wireInstructions }))
}
const instructionsWith = (fields: object) => {
  const { wireInstructions } = api.sandbox.service.context.rails
  change({ wireInstructions: async (...given) => ({ ...(await wireInstructions(...given)), ...fields }) })
}

it('words of instructions are stored without what Postgres cannot store', async () => {
  instructionsWith({ bankName: halves })
  const { status, body } = await expectWire()
  expect(status).toBe(201)
  expect(body).toMatchObject({ wire_instructions: { bank_name: clean } })
})

it.each([{ accountNumber: halves }, { memo: halves }, { routingNumber: 5 }])(
  'instructions with %o are no answer of the rail',
  async (fields) => {
    instructionsWith(fields)
    const { status, body } = await expectWire()
    expect([status, body.code]).toEqual([503, 'service_unavailable'])
  },
)

it('words of a refusal are answered without it', async () => {
  change({ validate: async () => ({ code: 'invalid_address', field: 'destination.address_id', detail: halves }) })
  const { status, body } = await expectWire()
  expect([status, body.code, body.detail]).toEqual([422, 'invalid_address', clean])
})

it('a refusal that the port does not describe is no answer of the rail', async () => {
  change({ validate: async () => ({ code: 'because' }) as never })
  expect((await expectWire()).status).toBe(503)
})
