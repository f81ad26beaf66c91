import { createHash } from 'node:crypto'
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Sandbox } from '@outlay/service/sandbox'
import type { Options } from './options.ts'

/** Credentials and ids to try the service. */
export interface Credentials {
  readonly clientId: string
  readonly clientSecret: string
  readonly accountId: string
  /** Custodial wallet with play money. */
  readonly walletId: string
  /** External address that can be paid. */
  readonly payeeId: string
}

/**
 * Returns the credentials of the sandbox: those of the last start if the service still accepts them, else those of a new client
 * with an account, 100,000 USDC and a payee.
 */
export async function provideCredentials(
  sandbox: Sandbox,
  options: Options,
): Promise<{ readonly credentials: Credentials; readonly isNew: boolean }> {
  const path = pathOf(options)
  const kept = await readCredentials(path)
  if (kept !== undefined && (await signIn(sandbox, kept)) !== undefined) return { credentials: kept, isNew: false }
  const credentials = await seed(sandbox)
  await mkdir(options.dataDir, { recursive: true })
  const partial = `${path}.${process.pid}`
  await writeFile(partial, `${JSON.stringify(credentials, null, 2)}\n`, { mode: 0o600 })
  await rename(partial, path)
  return { credentials, isNew: true }
}

/** One file per database. The secret protects only play money. */
function pathOf(options: Options): string {
  return join(options.dataDir, `credentials${suffixOf(options)}.json`)
}

/** What the names of the files of one database end with: nothing for the embedded one. */
export function suffixOf({ databaseUrl }: Pick<Options, 'databaseUrl'>): string {
  if (databaseUrl === undefined) return ''
  const { host, pathname } = new URL(databaseUrl)
  const digest = createHash('sha256')
    .update(host + pathname)
    .digest('hex')
  return `-${digest.slice(0, 8)}`
}

async function readCredentials(path: string): Promise<Credentials | undefined> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as Credentials
  } catch {
    return undefined
  }
}

async function signIn(
  sandbox: Sandbox,
  { clientId, clientSecret }: Pick<Credentials, 'clientId' | 'clientSecret'>,
): Promise<string | undefined> {
  const form = { grant_type: 'client_credentials', client_id: clientId, client_secret: clientSecret }
  const response = await fetch(`${sandbox.url}/oauth2/token`, { method: 'POST', body: new URLSearchParams(form) })
  const { access_token: token } = (await response.json()) as { access_token?: string }
  return response.ok ? token : undefined
}

async function seed(sandbox: Sandbox): Promise<Credentials> {
  const funds = [{ valueType: 'USDC', transferType: 'base', amount: '100000' }]
  const client = await sandbox.seedClient({ name: 'Sandbox', accounts: [{ businessName: 'Acme Payments LLC', funds }] })
  const [account] = client.accounts
  const wallet = account?.wallets.find(({ transferTypes }) => transferTypes.includes('base'))
  const token = await signIn(sandbox, client)
  if (account === undefined || wallet === undefined || token === undefined) throw new Error('The seed is incomplete.')
  return {
    clientId: client.clientId,
    clientSecret: client.clientSecret,
    accountId: account.accountId,
    walletId: wallet.addressId,
    payeeId: await registerPayee(sandbox, token, account.accountId),
  }
}

async function registerPayee(sandbox: Sandbox, token: string, accountId: string): Promise<string> {
  const response = await fetch(`${sandbox.url}/accounts/${accountId}/addresses/external`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'idempotency-key': 'payee' },
    body: JSON.stringify({
      name: 'Supplier',
      address: '0x52908400098527886E0F7030069857D2E4169EE7',
      transfer_types: ['base', 'ethereum'],
    }),
  })
  const { id } = (await response.json()) as { id?: string }
  if (id === undefined) throw new Error(`The payee was not registered: ${response.status}.`)
  return id
}
