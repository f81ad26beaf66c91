import type { Effect, Exchange, History, Intent, Notice } from './history.ts'

/** A broken promise, with its payout and the evidence. */
export interface Violation {
  readonly rule: string
  /** Reference of the payout, or the id of something without one. */
  readonly payout: string
  readonly what: string
  readonly evidence: readonly unknown[]
}

/** A request that creates a transfer, with its body read. */
export interface Create extends Exchange {
  readonly account: string
  readonly asked: Body
}

/** The body of such a request. Specification: "POST /accounts/{account_id}/transfers". */
export interface Body {
  readonly amount?: { readonly value?: unknown; readonly currency?: unknown }
  readonly source?: Endpoint
  readonly destination?: Endpoint
  readonly note?: unknown
}

interface Endpoint {
  readonly address_id?: unknown
  readonly value_type?: unknown
  readonly transfer_type?: unknown
}

/** The evidence about one reference: intents, requests, effects and notices. Usually one intent. */
export interface Payout {
  readonly reference: string
  readonly intents: readonly Intent[]
  readonly creates: readonly Create[]
  readonly effects: readonly Effect[]
  /** Notices of each intent, in the order of commits. */
  readonly notices: ReadonlyMap<string, readonly Notice[]>
  readonly withdrawn: boolean
  readonly promised: boolean
}

/** A history, grouped by payout. */
export interface Case {
  readonly history: History
  readonly payouts: readonly Payout[]
  readonly foreign: ReadonlySet<string>
  readonly paidOtherwise: ReadonlySet<string>
  /** The skipped time until a moment, in milliseconds. */
  travelled(at: number): number
}

/** Groups a history by payouts. Entries without a reference are under an empty one. */
export function openCase(recorded: History): Case {
  // They were recorded as they ended.
  const exchanges = recorded.exchanges.toSorted((a, b) => a.at - b.at)
  const history = { ...recorded, exchanges }
  const { host, service } = history
  const foreign = new Set(host.flatMap((line) => (line.kind === 'foreign' ? [line.remote] : [])))
  const paidOtherwise = new Set(host.flatMap((line) => (line.kind === 'paid_otherwise' ? [line.remote] : [])))
  const intents = Map.groupBy(
    host.filter((line) => line.kind === 'intent'),
    ({ reference }) => reference,
  )
  const notices = Map.groupBy(
    host.filter((line) => line.kind === 'notice'),
    ({ intent }) => intent,
  )
  const creates = Map.groupBy(exchanges.flatMap(readCreate), ({ asked }) => String(asked.note ?? ''))
  const effects = Map.groupBy(
    service.filter((line) => line.kind === 'transfer').filter(({ id }) => !foreign.has(id)),
    ({ note }) => note ?? '',
  )
  const said = (kind: 'promised' | 'withdrawn') =>
    new Set(host.flatMap((line) => (line.kind === kind ? [line.reference] : [])))
  const [promised, withdrawn] = [said('promised'), said('withdrawn')]
  const references = new Set([...intents, ...creates, ...effects].map(([reference]) => reference))
  for (const reference of promised) references.add(reference)
  const payouts = [...references].map((reference): Payout => {
    const own = intents.get(reference) ?? []
    return {
      reference,
      intents: own,
      creates: creates.get(reference) ?? [],
      effects: effects.get(reference) ?? [],
      notices: new Map(own.map(({ id }) => [id, notices.get(id) ?? []])),
      withdrawn: withdrawn.has(reference),
      promised: promised.has(reference),
    }
  })
  const travels = host.filter((line) => line.kind === 'travel')
  const travelled = (at: number) => travels.reduce((sum, line) => (line.at <= at ? sum + line.ms : sum), 0)
  return { history, payouts, foreign, paidOtherwise, travelled }
}

function readCreate(exchange: Exchange): readonly Create[] {
  const account = /^\/accounts\/([^/?]+)\/transfers?(\?|$)/.exec(exchange.path)?.[1]
  if (exchange.method !== 'POST' || account === undefined) return []
  return [{ ...exchange, account, asked: readJson(exchange.body) as Body }]
}

/** Reads JSON that should be an object; returns an empty one when it is none. */
export function readJson(text: string | undefined): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(text ?? '')
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}

/** Specification, "Transfer statuses": these are final, except a failure that is retriable. */
export const isFinal = ({ status, retriable }: { readonly status: string; readonly retriable: boolean }): boolean =>
  status === 'complete' || status === 'canceled' || (status === 'failed' && !retriable)

/** The notice of a payout's end, the first one of any subscription. */
export const endOf = (notices: readonly Notice[]): Notice | undefined =>
  notices.find((notice) => /^transfer\.(completed|failed|canceled)$/.test(notice.type) && isFinal(notice))

/** The shortest list. What is compared with several intents is that of the nearest one: a repetition may correct what it repeats. */
export const leastOf = (lists: readonly (readonly string[])[]): readonly string[] =>
  lists.toSorted((a, b) => a.length - b.length)[0] ?? []
