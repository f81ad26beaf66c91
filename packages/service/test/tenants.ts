import type { ServiceContext } from '../src/context.ts'
import { type TestAutomations, testAutomations } from './automations.ts'
import { testBankLinking } from './bank-link.ts'
import { inspect } from './inspection.ts'
import { type TestSandbox, testSandbox } from './sandbox.ts'
import { sampleBankAddress } from './service.ts'

/** Two clients that have done everything a client can do, so that every table has rows of both. */
export interface TestTenants {
  readonly clientIds: readonly [a: string, b: string]
  /** What the service of the first one worked with; its pool is closed. */
  readonly context: ServiceContext
}

/** Lets two clients use one service, then stops it. */
export async function testTenants(databaseUrl: string): Promise<TestTenants> {
  const funds = [{ valueType: 'USDC', transferType: 'base', amount: '1000' }]
  const a = await testSandbox(databaseUrl, funds)
  const b = await testSandbox(databaseUrl, funds)
  try {
    return { clientIds: [await useEverything(a), await useEverything(b)], context: a.sandbox.service.context }
  } finally {
    await a.stop()
    await b.stop()
  }
}

async function useEverything(api: TestSandbox): Promise<string> {
  const path = `/accounts/${api.accountId}`
  const create = async (what: string, body: object) => {
    const { status, body: answer } = await api.call<{ id: string }>('POST', `${path}/${what}`, { body })
    if (status !== 201) throw new Error(`${what} was refused: ${JSON.stringify(answer)}`)
    return answer.id
  }
  // Nothing listens there, so that its failures are counted.
  await create('webhooks', { url: `http://127.0.0.1:9${path}`, event_types: ['*'] })
  const bank = await create('addresses/external', sampleBankAddress)
  const amount = { value: '10', currency: 'USD' }
  const wallet = { address_id: api.walletId, value_type: 'USDC', transfer_type: 'base' }
  await create('transfers', {
    amount: { ...amount, currency: 'USDC' },
    source: wallet,
    destination: { address_id: bank, value_type: 'USD', transfer_type: 'wire' },
  })
  await create('transfers', { amount, source: { value_type: 'USD', transfer_type: 'wire' }, destination: wallet })
  await create('quotes', {
    amount: { value: '10', currency: 'USDC' },
    source: { value_type: 'USDC' },
    destination: { value_type: 'MXN' },
  })
  const automations = testAutomations(api)
  const automation = await automations.open()
  await automations.wire(automation, { amount: '5' })
  await oweReturn(api, automations)
  await testBankLinking(api).link(undefined, { customer_webhook_url: 'http://127.0.0.1:9/' })
  const { pool, schema } = api.sandbox.service.context
  const owner = await inspect(pool).query(`select client_id from ${schema}.client_account where account_id = $1`, [
    api.accountId,
  ])
  return owner.rows[0].client_id
}

/** An onramp to an outside wallet whose money comes back: the account owes it. */
async function oweReturn(api: TestSandbox, automations: TestAutomations): Promise<void> {
  const path = `/accounts/${api.accountId}`
  const bank = { ...sampleBankAddress, transfer_types: ['ach_debit'] }
  const { body: source } = await api.call<{ id: string }>('POST', `${path}/addresses/external`, { body: bank })
  const body = {
    amount: { value: '10', currency: 'USD' },
    source: { address_id: source.id, value_type: 'USD', transfer_type: 'ach_debit' },
    destination: {
      address_id: await automations.addWallet('0x27b1fdb04752bbc536007a920d24acb045561c26'),
      value_type: 'USDC',
      transfer_type: 'base',
    },
  }
  const { body: transfer } = await api.call<{ id: string }>('POST', `${path}/transfers`, { body })
  await automations.transferReaches(transfer.id, 'processing')
  await api.call('POST', `/simulations/transfers/${transfer.id}/settle`, { body: {} })
  await automations.transferReaches(transfer.id, 'complete')
  await api.call('POST', `/simulations/transfers/${transfer.id}/return`, { body: { code: 'R10' } })
}
