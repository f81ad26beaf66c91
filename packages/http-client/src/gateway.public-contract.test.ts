import { TransferStatus } from '@outlay/core'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type ContractServer, startContractServer } from '../test/public-contract/contract-server.ts'
import * as examples from '../test/public-contract/examples.ts'
import { type HttpGatewayOptions, httpGateway } from './gateway.ts'
import { httpWebhooks } from './webhook-verifier.ts'

const accountId = '01ARZ3NDEKTSV4RRFFQ69G5FAV'
const wallet = '01BX5ZZKBKACTAV9WEVGEMMVS0'
const { signal } = new AbortController()

let server: ContractServer
let close: (() => Promise<void>) | undefined

beforeEach(async () => {
  server = await startContractServer()
})

afterEach(async () => {
  await close?.()
  await server.close()
})

const open = (options: Partial<HttpGatewayOptions> = { dialect: 'public' }) => {
  const gateway = httpGateway({ baseUrl: server.url, credentials: { clientId: 'c', clientSecret: 's' }, ...options })
  close = async () => gateway.close?.()
  return gateway
}

const submission = {
  transferId: 't',
  accountId,
  idempotencyKey: 'key-1',
  attempt: 1,
  request: {
    amount: { value: '1250.00', currency: 'USD' },
    source: { addressId: wallet, valueType: 'USDC', transferType: 'base' },
    destination: { addressId: wallet, valueType: 'USD', transferType: 'wire', wireMemo: 'invoice 7' },
  },
}

test.each(['published', 'own'] as const)('by the %s document, a transfer is submitted and read', async (document) => {
  server.answerBy(document)
  const gateway = open()
  expect(await gateway.submit(submission, { signal })).toMatchObject({ outcome: 'accepted' })
  expect(await gateway.get(accountId, examples.transfer.id, { signal })).toMatchObject({ remoteId: expect.any(String) })
  const place = { streetLine1: '1 Main St', city: 'Austin', state: 'TX', zip: '78701' }
  const bank = { owner: 'Ada', name: 'Ada', accountNumber: '1234567890', routingNumber: '021000021' } as const
  const address = {
    kind: 'bank_account',
    ...bank,
    accountType: 'checking',
    bankAddress: place,
    beneficiaryAddress: place,
  } as const
  const registration = { ...submission, address: { ...address, transferTypes: ['wire'] } }
  expect(await gateway.registerAddress?.(registration, { signal })).toMatchObject({ outcome: 'accepted' })
  expect(server.violations).toEqual([])
})

test('the memo of a wire is refused in the dialect of the specification', async () => {
  expect(await open({}).submit(submission, { signal })).toMatchObject({ outcome: 'rejected' })
  expect(server.violations).toEqual([expect.stringContaining('wire_memo')])
})

test('a row that cannot be read is counted, and is no outcome', async () => {
  const { id, ...unnamed } = examples.transfer
  const rows = [
    { ...examples.transfer, id: 'read-1', status: 'complete' },
    { ...unnamed, status: 'failed', failure: 'lost' },
    { ...examples.transfer, id: 'unread-1', status: 'settled' },
    {
      ...examples.transfer,
      id: 'unread-2',
      status: 'failed',
      failure: 'lost',
      amount: { value: '-1', currency: 'USD' },
    },
    'text',
    null,
    { ...examples.transfer, id: 'read-2', status: 'canceled' },
  ]
  server.override({ status: 200, body: { transfers: rows, pagination: { next: 'two', prev: null } } })
  const page = await open().list?.(accountId, { limit: 100, signal })
  expect(page?.observations.map(({ remoteId, status }) => [remoteId, status])).toEqual([
    ['read-1', 'complete'],
    ['read-2', 'canceled'],
  ])
  expect(page).toMatchObject({ unreadable: 5, next: 'two' })
})

test('a failure that may still become a success is not final, and one that may not is', async () => {
  server.answerBy('own')
  const page = await open().list?.(accountId, { limit: 100, signal })
  const isFinal = page?.observations.map(({ status, failure }) => TransferStatus.isFinal(status, failure))
  // A text, retriable, a return by a bank, errors that say nothing about it.
  expect(isFinal).toEqual([false, false, true, false])
  const [failed] = page?.observations ?? []
  for (const status of ['complete', 'canceled'] as const)
    expect(failed && TransferStatus.advance(failed, { status, failure: null })).toMatchObject({ status })
})

test('a webhook is read in the dialect too', async () => {
  const body = JSON.stringify({ id: 'event-1', type: 'transfer.failed', data: examples.failures[0] })
  const { createHmac } = await import('node:crypto')
  const key = Buffer.from(examples.sharedSecret, 'base64url')
  const headers = { 'x-request-signature-sha-256': createHmac('sha256', key).update(body).digest('hex') }
  const read = async (options: { readonly dialect?: 'public' }) =>
    httpWebhooks({ secrets: () => examples.sharedSecret, ...options }).verify(
      { body: Buffer.from(body), headers },
      accountId,
    )
  expect(await read({ dialect: 'public' })).toMatchObject({ status: 'failed', failure: { retriable: true } })
  expect(await read({})).toMatchObject({ status: 'failed', failure: { retriable: false } })
})
