import { startSandbox } from '@outlay/service/sandbox'
import { testDatabase } from '@outlay/testing/vitest'
import { expect, it, onTestFinished } from 'vitest'
import { checkPublicContract, type OperationReport } from './program.ts'

type Dialect = 'specification' | 'public'

async function check(dialect: Dialect) {
  const database = await testDatabase({ role: 'ordinary' })
  const sandbox = await startSandbox({ databaseUrl: database.url, dialect })
  onTestFinished(() => sandbox.stop())
  const { clientId, clientSecret, accounts } = await sandbox.seedClient({
    name: 'Program',
    accounts: [{ businessName: 'Acme' }],
  })
  const form = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: clientId,
    client_secret: clientSecret,
  })
  const granted = await fetch(`${sandbox.url}/oauth2/token`, { method: 'POST', body: form })
  const { access_token: token } = (await granted.json()) as { access_token: string }
  return await checkPublicContract({ baseUrl: sandbox.url, token, accountId: accounts[0]?.accountId ?? '' })
}

/** What ours has beyond both contracts, by the end of its path. */
const ours = [
  'account_id',
  'code',
  'delivery_id',
  'detail',
  'disabled_reason',
  'event_types',
  'request_id',
  'secret',
  'webhooks',
]

it('every operation is answered as the public contract says, in its dialect', async () => {
  const reports = await check('public')
  expect(reports.length).toBeGreaterThan(50)
  expect(reports.filter(({ violations }) => violations.length > 0)).toEqual([])
  const beyond = new Set(reports.flatMap(({ extensions }) => extensions.map((path) => path.split('/').at(-1))))
  expect([...beyond].sort()).toEqual(ours)
})

/** Operations that the specification contradicts, and those that need what these would have made. */
const contradicted = [
  'change webhook',
  'create link token',
  'create link token, older path',
  'create move between chains',
  'create wire offramp',
  'list deliveries',
  'list event types',
  'register account, older path',
]

it('in the dialect of the specification, only what contradicts it is answered otherwise', async () => {
  const reports = await check('specification')
  const wrong = reports.filter(({ violations }) => violations.length > 0)
  const [dependent, own] = [wrong.filter(isDependent), wrong.filter((one) => !isDependent(one))]
  expect([...new Set(own.map(({ name }) => name))].sort()).toEqual(contradicted)
  for (const { violations } of dependent) expect(violations).toHaveLength(1)
})

/** True when what the operation is about does not exist, since an earlier one was refused. */
const isDependent = ({ name, violations }: OperationReport): boolean =>
  /^answers 404|missing_field|invalid_address/.test(violations[0] ?? '') && !contradicted.includes(name)
