import { type Sandbox, startSandbox } from '@outlay/service/sandbox'
import { type TestDatabase, testDatabase } from '@outlay/testing/vitest'
import { afterAll } from 'vitest'
import { migrateHost } from './host.ts'

/** What the tests of a file share: databases of hosts, and a service. */
export interface Site {
  readonly hosts: TestDatabase
  readonly services: TestDatabase
  readonly sandbox: Sandbox
}

/** Starts a service on a database of its own, until the file or `describe` that calls it ends. */
export async function testSite(): Promise<Site> {
  const hosts = await testDatabase({ key: 'host', prepare: migrateHost })
  const services = await testDatabase({ role: 'ordinary' })
  const sandbox = await startSandbox({ databaseUrl: services.url })
  afterAll(() => sandbox.stop())
  return { hosts, services, sandbox }
}
