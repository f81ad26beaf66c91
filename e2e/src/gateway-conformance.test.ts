import type { TransferRequest } from '@outlay/core'
import { openClock } from '@outlay/example-sandbox'
import { createClient, httpGateway, outlayKeyLifetimeMs } from '@outlay/http-client'
import { startSandbox } from '@outlay/service/sandbox'
import { waitUntil } from '@outlay/testing'
import { describeGateway } from '@outlay/testing/conformance'
import { testDatabase } from '@outlay/testing/vitest'

describeGateway('httpGateway, before the service', async (through) => {
  const database = await testDatabase({ role: 'ordinary' })
  const sandbox = await startSandbox({ databaseUrl: database.url })
  const funds = [{ valueType: 'USDC', transferType: 'base', amount: '1000000' }]
  const seeded = await sandbox.seedClient({ name: 'Acme', accounts: [{ businessName: 'Acme', funds }] })
  const [account] = seeded.accounts
  const wallet = account?.wallets.find(({ transferTypes }) => transferTypes.includes('base'))
  if (account === undefined || wallet === undefined) throw new Error('The sandbox made no wallet on Base.')
  const { accountId } = account
  const credentials = { clientId: seeded.clientId, clientSecret: seeded.clientSecret }
  const client = createClient({ baseUrl: sandbox.url, credentials })
  const office = { streetLine1: '1 Main Street', city: 'Chicago', state: 'IL', zip: '60601' }
  const bank = {
    name: 'Ada Park',
    owner: 'Ada Park',
    accountNumber: '1000006789',
    routingNumber: '021000021',
    accountType: 'checking' as const,
    bankAddress: office,
    beneficiaryAddress: office,
    transferTypes: ['wire', 'ach_credit'],
  }
  const { id: bankId } = await client.addresses.createExternal(accountId, bank)
  const { id: oldId } = await client.addresses.createExternal(accountId, { ...bank, accountNumber: '1000006791' })
  const setStatus = (status: 'active' | 'archived') => client.addresses.update(accountId, oldId, { status })
  await setStatus('archived')
  const payout = (value: string, addressId = bankId): TransferRequest => ({
    amount: { value, currency: 'USD' },
    source: { addressId: wallet.addressId, valueType: 'USDC', transferType: 'base' },
    destination: { addressId, valueType: 'USD', transferType: 'wire' },
  })
  const pass = await openClock(sandbox.url, credentials)
  const count = async (items: AsyncIterable<unknown>) => {
    let found = 0
    for await (const _ of items) found += 1
    return found
  }
  return {
    gateway: httpGateway({ baseUrl: await through(sandbox.url), credentials, keyLifetimeMs: outlayKeyLifetimeMs }),
    accountId,
    request: () => payout('10.25'),
    countPayments: () => count(client.transfers.iterate(accountId)),
    submits: { method: 'POST', path: /\/transfers$/ },
    refused: () => payout('10.25', oldId),
    permit: async () => void (await setStatus('active')),
    unfunded: () => payout('2000000'),
    counterparty: () => ({ kind: 'bank_account', ...bank, accountNumber: '1000006790' }),
    countCounterparties: () => count(client.addresses.iterate(accountId, { type: 'external' })),
    registers: { method: 'POST', path: /\/addresses\/external$/ },
    complete: async (id) => {
      const isComplete = async () => {
        await pass(24)
        return (await client.transfers.get(accountId, id))?.status === 'complete'
      }
      await waitUntil(isComplete, { describe: () => 'the payment to complete' })
    },
    secrets: [seeded.clientSecret],
    close: async () => {
      await client.close()
      await sandbox.stop()
    },
  }
})
