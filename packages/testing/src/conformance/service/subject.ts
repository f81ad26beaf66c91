import { strict as assert } from 'node:assert'
import { waitUntil } from '../../harness.ts'
import type { ServiceConformanceOptions } from './options.ts'
import type { AddressRecord, BalanceRecord, TransferRecord } from './records.ts'
import { type Answer, type Call, openSession, type Session } from './session.ts'

/** The body of a create. */
export interface TransferBody {
  readonly amount?: unknown
  readonly source?: unknown
  readonly destination?: unknown
  readonly brand?: unknown
  readonly note?: unknown
}

/** A service under test: its client's session, and common steps of cases. */
export interface ServiceSubject extends Session {
  readonly options: ServiceConformanceOptions
  readonly tokenUrl: string
  /** Session of the second client; a case that uses it says so in its needs. */
  readonly stranger: Session
  /** Path below the account. */
  readonly at: (path: string) => string
  /** Id of the custodial wallet on a chain. */
  wallet(transferType: string): Promise<string>
  /** Registers an external address and returns its id. */
  register(body: unknown): Promise<string>
  create(body: TransferBody, call?: Call): Promise<Answer<TransferRecord>>
  /** Creates a transfer and requires 201. */
  created(body: TransferBody, call?: Call): Promise<TransferRecord>
  read(transferId: string): Promise<TransferRecord>
  /** Retries until there is a result, up to the time limit of the options. */
  waitFor<T>(what: string, probe: () => Promise<T | undefined>): Promise<T>
  /** Waits until a transfer has a status. */
  reaches(transferId: string, status: string): Promise<TransferRecord>
  /** Puts money into a wallet. Needs simulations. */
  fund(valueType: string, transferType: string, value: string): Promise<void>
  /** Moves the clock. Needs simulations. */
  advance(seconds: number): Promise<void>
  /** The balance of a value type in the wallet on a chain. Settled. */
  balance(valueType: string, transferType: string): Promise<{ readonly total: string; readonly available: string }>
}

/** Signs in at the service and makes the subject of the cases. */
export async function openSubject(options: ServiceConformanceOptions): Promise<ServiceSubject> {
  const { baseUrl, second } = options
  const tokenUrl = options.tokenUrl ?? `${baseUrl}/oauth2/token`
  const session = await openSession(baseUrl, tokenUrl, options, options.fetch)
  const other = second === undefined ? undefined : await openSession(baseUrl, tokenUrl, second, options.fetch)
  const at = (path: string) => `/accounts/${session.accountId}${path}`
  const waitFor: ServiceSubject['waitFor'] = (describe, probe) =>
    waitUntil(probe, { timeoutMs: options.patienceMs ?? 20_000, describe })
  const steps = transferSteps(session, at, waitFor)
  return {
    ...session,
    ...steps,
    ...moneySteps(session, at, (transferType) => findWallet(session, at, transferType)),
    options,
    tokenUrl,
    at,
    waitFor,
    get stranger(): Session {
      if (other === undefined) throw new Error('This case needs a second client.')
      return other
    },
    wallet: (transferType) => findWallet(session, at, transferType),
    async register(body) {
      const answer = await session.call<{ id: string }>('POST', at('/addresses/external'), { body })
      assert.equal(answer.status, 201, answer.text)
      return answer.json.id
    },
  }
}

async function findWallet(session: Session, at: ServiceSubject['at'], transferType: string): Promise<string> {
  const answer = await session.call('GET', at('/addresses'), { query: { 'page[size]': '100' } })
  const wallet = readAddresses(answer).find((one) => one.transfer_types?.includes(transferType))
  assert.ok(wallet, `The account has no wallet on ${transferType}: ${answer.text}`)
  return wallet.id
}

/** Addresses of a list, whether it is an object or a bare array: the specification does not show which. */
export function readAddresses(answer: Answer<unknown>): readonly AddressRecord[] {
  assert.equal(answer.status, 200, answer.text)
  const list = Array.isArray(answer.json) ? answer.json : (answer.json as { addresses?: unknown }).addresses
  assert.ok(Array.isArray(list), answer.text)
  return list as readonly AddressRecord[]
}

function transferSteps(
  session: Session,
  at: ServiceSubject['at'],
  waitFor: ServiceSubject['waitFor'],
): Pick<ServiceSubject, 'create' | 'created' | 'read' | 'reaches'> {
  const create: ServiceSubject['create'] = (body, call) => session.call('POST', at('/transfers'), { ...call, body })
  const read = async (id: string) => {
    const answer = await session.call<TransferRecord>('GET', at(`/transfers/${id}`))
    assert.equal(answer.status, 200, answer.text)
    return answer.json
  }
  return {
    create,
    read,
    async created(body, call) {
      const answer = await create(body, call)
      assert.equal(answer.status, 201, answer.text)
      return Object.keys(answer.json).length > 1 ? answer.json : await read(answer.json.id)
    },
    reaches(id, status) {
      return waitFor(`the transfer to be ${status}`, async () => {
        const transfer = await read(id)
        return transfer.status === status ? transfer : undefined
      })
    },
  }
}

function moneySteps(
  session: Session,
  at: ServiceSubject['at'],
  wallet: ServiceSubject['wallet'],
): Pick<ServiceSubject, 'fund' | 'advance' | 'balance'> {
  const simulate = async (path: string, body: unknown) => {
    const answer = await session.call('POST', `/simulations${path}`, { body, key: null })
    assert.ok(answer.status < 300, answer.text)
  }
  return {
    async fund(valueType, transferType, value) {
      await simulate('/deposits', {
        account_id: session.accountId,
        address_id: await wallet(transferType),
        value_type: valueType,
        transfer_type: transferType,
        amount: { value, currency: valueType },
      })
    },
    advance: (seconds) => simulate('/clock/advance', { seconds }),
    async balance(valueType, transferType) {
      const query = { value_type: valueType, transfer_type: transferType }
      const path = at(`/addresses/${await wallet(transferType)}/balance`)
      const answer = await session.call<BalanceRecord>('GET', path, { query })
      assert.equal(answer.status, 200, answer.text)
      return { total: answer.json.balance.value, available: answer.json.available.value }
    },
  }
}
