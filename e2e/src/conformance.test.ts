import process from 'node:process'
import { startSandbox } from '@outlay/service/sandbox'
import { describeService, readConformanceOptions, type ServiceConformanceOptions } from '@outlay/testing/conformance'
import { testDatabase } from '@outlay/testing/vitest'
import { afterAll, describe, expect } from 'vitest'
import { openDocumentedFetch } from './documented-fetch.ts'

const isElsewhere = process.env['OUTLAY_CONFORMANCE_BASE_URL'] !== undefined

if (isElsewhere) describeService(readConformanceOptions(process.env))
else {
  for (const dialect of ['specification', 'public'] as const) {
    const options = await startOwn(dialect)
    describe(`in the dialect ${dialect}`, () => describeService(options))
  }
}

/** Starts this project's service, with two clients that share no account. Every answer must match its document. */
async function startOwn(dialect: 'specification' | 'public'): Promise<ServiceConformanceOptions> {
  const database = await testDatabase({ role: 'ordinary' })
  const sandbox = await startSandbox({ databaseUrl: database.url, dialect })
  afterAll(() => sandbox.stop())
  const client = async (name: string) => {
    const { clientId, clientSecret, accounts } = await sandbox.seedClient({ name, accounts: [{ businessName: name }] })
    return { clientId, clientSecret, accountId: accounts[0]?.accountId ?? '' }
  }
  const documented = await openDocumentedFetch(sandbox.url)
  // A document that matches nothing would find no fault in any answer.
  afterAll(() => expect(documented.checked.size).toBeGreaterThan(50))
  const { fetch } = documented
  const clients = { ...(await client('Acme')), second: await client('Globex') }
  return { baseUrl: sandbox.url, ...clients, simulations: true, dialect, fetch }
}
