import process from 'node:process'
import { startSandbox } from '@outlay/service/sandbox'
import { describeService, readConformanceOptions, type ServiceConformanceOptions } from '@outlay/testing/conformance'
import { testDatabase } from '@outlay/testing/vitest'
import { afterAll, expect } from 'vitest'
import { openDocumentedFetch } from './documented-fetch.ts'

const isElsewhere = process.env['OUTLAY_CONFORMANCE_BASE_URL'] !== undefined

describeService(isElsewhere ? readConformanceOptions(process.env) : await startOwn())

/** Starts this project's service, with two clients that share no account. Every answer must match its document. */
async function startOwn(): Promise<ServiceConformanceOptions> {
  const database = await testDatabase({ role: 'ordinary' })
  const sandbox = await startSandbox({ databaseUrl: database.url })
  afterAll(() => sandbox.stop())
  const client = async (name: string) => {
    const { clientId, clientSecret, accounts } = await sandbox.seedClient({ name, accounts: [{ businessName: name }] })
    return { clientId, clientSecret, accountId: accounts[0]?.accountId ?? '' }
  }
  const documented = await openDocumentedFetch(sandbox.url)
  // A document that matches nothing would find no fault in any answer.
  afterAll(() => expect(documented.checked.size).toBeGreaterThan(50))
  const { fetch } = documented
  return { baseUrl: sandbox.url, ...(await client('Acme')), second: await client('Globex'), simulations: true, fetch }
}
