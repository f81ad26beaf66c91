import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** An amount, its decimal value as text. Specification: "Amount". */
export interface Amount {
  readonly value: string
  readonly currency: string
}

/** Source or destination of an intent. `payee` is the wallet or account number of a counterparty without an id. */
export interface Leg {
  readonly address?: string
  readonly payee?: string
  readonly valueType: string
  readonly transferType: string
}

/** A host's own row for a payout. */
export interface Asked {
  /** Unique text, sent as the `note` of the transfer, that ties the payout to requests and effects. */
  readonly reference: string
  readonly amount: Amount
  readonly source: Leg
  readonly destination: Leg
  readonly notBefore?: string
  readonly expiresAt?: string
  /** The failed intent that this one repeats. */
  readonly repeats?: string
}

/** A payout that a host committed. `id` is the host's id of it. */
export interface Intent extends Asked {
  readonly kind: 'intent'
  readonly at: number
  readonly id: string
  readonly account: string
}

/** The row that a handler of the host wrote when it was notified. */
export interface Notice {
  readonly kind: 'notice'
  readonly at: number
  readonly subscription: string
  readonly event: string
  readonly type: string
  readonly intent: string
  readonly sequence: number
  readonly status: string
  /** Whether a failure is retriable. */
  readonly retriable: boolean
  /** Id of the effect at the service, where it is known. */
  readonly remote: string | null
}

/** One line of the host's history, in the order of commits. Times are milliseconds since the epoch. */
export type HostLine =
  | Intent
  | Notice
  /** The host's record of a commit: it was answered, or the transaction was rolled back. */
  | { readonly kind: 'promised' | 'withdrawn'; readonly at: number; readonly reference: string }
  | { readonly kind: 'tenant'; readonly at: number; readonly account: string; readonly client: string }
  /** The tenant's own side is not well from now on (paused, no funds, wrong secret), or is again; null: everybody's. */
  | { readonly kind: 'unwell' | 'well'; readonly at: number; readonly account: string | null; readonly why: string }
  /** Rows were moved into the past, as if so much time had passed. */
  | { readonly kind: 'travel'; readonly at: number; readonly ms: number }
  /** A transfer that another system created, or of which a person at the service accepted that another amount was paid. */
  | { readonly kind: 'foreign' | 'paid_otherwise'; readonly at: number; readonly remote: string }
  /** A deposit into a wallet from outside. */
  | {
      readonly kind: 'funded'
      readonly at: number
      readonly account: string
      readonly value: string
      readonly rail: string
      readonly amount: string
    }

/** One request as a recording proxy observed it. */
export interface Exchange {
  readonly at: number
  readonly doneAt: number
  readonly method: string
  readonly path: string
  readonly key?: string
  /** Digest of the client whose token was shown. */
  readonly client?: string
  readonly retryAfter?: string
  readonly body?: string
  readonly status?: number
  readonly answer?: string
  /** `unsent`: broke before it was forwarded. `unanswered`: broke before the answer was delivered whole. */
  readonly end: 'answered' | 'unanswered' | 'unsent'
}

/** A transfer as the service states it. */
export interface Effect {
  readonly kind: 'transfer'
  readonly id: string
  readonly account: string
  readonly status: string
  readonly retriable: boolean
  readonly amount: Amount
  readonly source: Leg
  readonly destination: Leg
  readonly note: string | null
}

/** A balance as the service states it; `entries…` is absent in between, where only the row was read. */
export interface Balance {
  readonly kind: 'balance'
  readonly at: number
  readonly ledger: string
  readonly owner: string
  readonly account: string
  readonly address: string
  readonly value: string
  readonly rail: string
  readonly available: string
  readonly held: string
  readonly last: boolean
}

/** One signed line of a posting in the service's ledger. */
export interface Entry {
  readonly kind: 'entry'
  readonly posting: string
  readonly step: string
  readonly ledger: string
  readonly bucket: 'available' | 'held'
  readonly value: string
  readonly amount: string
}

/** One line of the service's statements. `status` is a transfer's status observed in between. */
export type ServiceLine =
  | Effect
  | Balance
  | Entry
  | {
      readonly kind: 'status'
      readonly at: number
      readonly id: string
      readonly status: string
      readonly retriable: boolean
    }

/** Facts about the run. */
export interface Run {
  /** Everything had time to end, and no fault was left. */
  readonly atRest: boolean
  readonly endedAt: number
  /** Subscriptions that want every event, and those that want endings; the former are among the latter. */
  readonly everything: readonly string[]
  readonly endings: readonly string[]
  /** How long the service remembers a key, in milliseconds. */
  readonly keysLiveMs: number
  /** How long a tenant whose own side is well may wait for its first request, in milliseconds; absent: nothing is promised. */
  readonly servedWithinMs?: number
}

/** Everything that was recorded. */
export interface History {
  readonly run: Run
  readonly host: readonly HostLine[]
  readonly exchanges: readonly Exchange[]
  readonly service: readonly ServiceLine[]
}

/** Names of the files of a history in its folder: one JSON value per line. */
export const files = { run: 'run.json', host: 'host.jsonl', exchanges: 'http.jsonl', service: 'service.jsonl' } as const

/** Reads a history. Throws Error for a line that is no JSON, naming it. */
export async function readHistory(folder: string): Promise<History> {
  const read = async <T>(name: string): Promise<T[]> =>
    (await readFile(join(folder, name), 'utf8')).split('\n').flatMap((line, index) => {
      if (line === '') return []
      try {
        return [JSON.parse(line) as T]
      } catch (cause) {
        throw new Error(`${name}:${index + 1} is no JSON`, { cause })
      }
    })
  const [run] = await read<Run>(files.run)
  if (run === undefined) throw new Error(`${files.run} is empty`)
  const [host, exchanges, service] = await Promise.all([
    read<HostLine>(files.host),
    read<Exchange>(files.exchanges),
    read<ServiceLine>(files.service),
  ])
  return { run, host, exchanges, service }
}
