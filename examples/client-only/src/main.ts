/**
 * Pays two invoices with the HTTP client alone: no engine, no outbox, no database. PostgreSQL is for the sandbox, which stands in
 * for the service. `docs/guides/http-client.md` explains each step.
 */
import { createClient } from '@outlay/http-client'
import { startSandbox } from '@outlay/service/sandbox'
import { startPostgres, waitUntil } from '@outlay/testing'
import { openInbox } from './inbox.ts'
import { explain, findWallet, type Invoice, payInvoice, subscribe } from './payout.ts'
import { openSandboxClock } from './sandbox-clock.ts'

const invoices: readonly Invoice[] = [
  { id: 'INV-41', payee: 'Ada Park', payeeAddress: '0x7a39eB597c91da3F10f8702982a20372C2eb6499', total: '1250.00' },
  { id: 'INV-42', payee: 'Bo Lind', payeeAddress: '0xdE7A1aDc88C706C062A742F4419AA4903c0FebAf', total: '99.95' },
]

const tooLarge: Invoice = {
  id: 'INV-43',
  payee: 'Cy Moss',
  payeeAddress: '0xdE7A1aDc88C706C062A742F4419AA4903c0FebAf',
  total: '999999.00',
}

await main()

async function main(): Promise<void> {
  await using running = new AsyncDisposableStack()
  const postgres = running.use(await startPostgres())
  const databaseUrl = await postgres.createDatabase()
  running.defer(() => postgres.dropDatabase(databaseUrl))
  const sandbox = running.use(await startSandbox({ databaseUrl }))
  const { accounts, ...credentials } = await sandbox.seedClient({
    name: 'Invoices',
    accounts: [{ businessName: 'Acme', funds: [{ valueType: 'USDC', transferType: 'base', amount: '5000' }] }],
  })
  const accountId = accounts[0]?.accountId ?? ''
  const advanceClock = await openSandboxClock(sandbox.url, credentials)

  const client = running.use(createClient({ baseUrl: sandbox.url, credentials }))
  const secrets: string[] = []
  const inbox = running.use(await openInbox(secrets))
  secrets.push(await subscribe(client, accountId, inbox.url))
  const wallet = await findWallet(client, accountId)

  const paid: string[] = []
  for (const invoice of invoices) {
    const transferId = await payInvoice(client, accountId, wallet, invoice)
    const again = await payInvoice(client, accountId, wallet, invoice)
    console.log(`${invoice.id} is on its way${again === transferId ? '; paid again, it is the same transfer' : ''}`)
    paid.push(transferId)
  }
  await payInvoice(client, accountId, wallet, tooLarge).catch((error) => {
    console.log(`${tooLarge.id} ${explain(error)}`)
  })

  await waitUntil(
    async () => {
      await advanceClock(60)
      return paid.every((transferId) => inbox.completed.has(transferId))
    },
    { timeoutMs: 60_000, describe: () => `the webhooks; ${inbox.completed.size} came` },
  )
  console.log('verified webhooks report that both payouts are complete')

  for await (const { note, status, amount } of client.transfers.iterate(accountId, { pageSize: 1 })) {
    console.log(`${note}: ${amount.value} ${amount.currency}, ${status}`)
  }
  const left = await client.balances.get(accountId, wallet, { valueType: 'USDC', transferType: 'base' })
  console.log(`${left?.available.value} ${left?.available.currency} are left`)
}
