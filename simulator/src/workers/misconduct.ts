import type { Gateway, Observation, Screener, ScreeningAnswer, SubmitResult } from '@outlay/core'
import type { ForeignPlace, PlayerStep } from '../plan/players.ts'

type Misbehaviour = Omit<Extract<PlayerStep, { readonly do: 'misbehave' }>, 'do' | 'tenant' | 'place'>

/** How foreign code behaves that the engine calls for a tenant. */
export interface Misconduct {
  /** Lets the next calls of a place misbehave, for one account. */
  plan(accountId: string, place: ForeignPlace, how: Misbehaviour): void
  /** Lets every request of one transfer be refused with this status. */
  refuse(transferId: string, status: number): void
  /** Transfers that are refused whenever they are sent. */
  readonly refused: ReadonlyMap<string, number>
  /** Whether foreign code of the account misbehaves, or still hangs. */
  concerns(accountId: string): boolean
  /** Whether a call hangs now. */
  isHanging(): boolean
  /**
   * Answers a call: with what it would answer otherwise, or with something else, or never. Throws at once where that is
   * planned. `nonsense` chooses from the senseless answers of the place.
   */
  intercept<T>(
    accountId: string,
    place: ForeignPlace,
    properly: () => Promise<T>,
    nonsense: readonly unknown[],
  ): Promise<T>
  /** Fails what hangs. */
  hangUp(): void
  /** Ends everything. */
  heal(): void
}

/** Makes foreign code that behaves until a step plans otherwise. */
export function createMisconduct(): Misconduct {
  const planned = new Map<string, Misbehaviour & { left: number }>()
  const hanging = new Set<{ readonly accountId: string; readonly hangUp: () => void }>()
  const refused = new Map<string, number>()
  const hang = (accountId: string, forMs: number | null) =>
    new Promise<void>((resolve, reject) => {
      const end = (settle: () => void) => () => {
        hanging.delete(one)
        clearTimeout(timer)
        settle()
      }
      const one = { accountId, hangUp: end(() => reject(new Error('It hung until it was ended.'))) }
      const timer = forMs === null ? undefined : setTimeout(end(resolve), forMs)
      hanging.add(one)
    })
  const strike = (accountId: string, place: ForeignPlace): Misbehaviour | undefined => {
    const name = `${accountId} ${place}`
    const found = planned.get(name)
    if (found === undefined) return undefined
    found.left -= 1
    if (found.left <= 0) planned.delete(name)
    return found
  }
  const hangUp = () => {
    for (const one of [...hanging]) one.hangUp()
  }
  return {
    plan: (accountId, place, how) => {
      planned.set(`${accountId} ${place}`, { ...how, left: how.times ?? Number.POSITIVE_INFINITY })
    },
    refuse: (transferId, status) => void refused.set(transferId, status),
    refused,
    concerns: (accountId) =>
      [...planned.keys()].some((name) => name.startsWith(`${accountId} `)) ||
      [...hanging].some((one) => one.accountId === accountId),
    isHanging: () => hanging.size > 0,
    // No async function, or what is thrown at once would be a rejection.
    intercept(accountId, place, properly, nonsense) {
      const found = strike(accountId, place)
      if (found === undefined) return properly()
      if (found.how === 'throw') throw new TypeError('Cannot read properties of undefined')
      if (found.how === 'hang') return hang(accountId, found.forMs).then(properly)
      const answer = nonsense[found.nonsense % nonsense.length]
      // Odd ones come after the deed; a handler that returns has done its own.
      return found.nonsense % 2 === 0 && place !== 'handler'
        ? Promise.resolve(answer as never)
        : properly().then(() => answer as never)
    },
    hangUp,
    heal() {
      planned.clear()
      refused.clear()
      hangUp()
    },
  }
}

const senselessResults: readonly unknown[] = [
  {},
  { outcome: 'accepted' },
  { outcome: 'unknown', detail: 10n },
  { outcome: 'later', detail: 'of another release' },
  undefined,
  { outcome: 'throttled', retryAfterMs: Number.NaN, detail: 'soon' },
  { outcome: 'unknown', detail: 'odd', httpStatus: Number.NaN, retryAfterMs: Number.NEGATIVE_INFINITY },
  { outcome: 'rejected', code: 5n, detail: Symbol('odd') },
  null,
]

const senselessReads: readonly unknown[] = [
  {},
  { remoteId: 'odd', status: 'later', failure: null },
  10n,
  { remoteId: 7, status: Number.NaN },
]

const senselessPages: readonly unknown[] = [
  {},
  undefined,
  { observations: [{}, { status: 'later' }] },
  { observations: 10n },
]

/** What a vault may say instead of credentials. */
export const senselessCredentials: readonly unknown[] = [
  {},
  undefined,
  { clientId: 5, clientSecret: 10n },
  'odd',
  Number.NaN,
]

/** What is no answer of a screener, and least of all a pass. */
const senselessAnswers: readonly unknown[] = [
  undefined,
  {},
  true,
  'pass',
  { result: 'passed' },
  { result: ['pass'] },
  { result: 'pass', case: 7 },
  { result: 'pass', note: 10n },
]

/** A screener that misbehaves as planned. It notes what it lets pass. */
export const misconductedScreener =
  (misconduct: Misconduct, verdicts: ('hold' | 'refuse')[], passed: Set<string>): Screener =>
  ({ id, accountId }) => {
    const answer = async (): Promise<ScreeningAnswer> => {
      const result = verdicts.shift() ?? 'pass'
      return result === 'pass' ? { result } : { result, case: `case ${id}`, note: 'as planned' }
    }
    const said = misconduct.intercept(accountId, 'screener', answer, senselessAnswers)
    return said.then((one) => {
      // What is senseless is none, whatever it has as a result.
      if (one?.result === 'pass' && !senselessAnswers.includes(one)) passed.add(id)
      return one
    })
  }

/** What the gateway over HTTP makes of a page without a code. */
const refusal = (httpStatus: number): SubmitResult => ({
  outcome: httpStatus === 403 ? 'unauthorized' : 'unknown',
  httpStatus,
  detail: `HTTP ${httpStatus}`,
})

/** A gateway that misbehaves as planned, and refuses what is to be refused. */
export function misconductedGateway(gateway: Gateway, misconduct: Misconduct): Gateway {
  const { list } = gateway
  return {
    ...gateway,
    submit: (submission, options) => {
      const { accountId, transferId } = submission
      const status = misconduct.refused.get(transferId)
      const properly = async () => (status === undefined ? gateway.submit(submission, options) : refusal(status))
      return misconduct.intercept<SubmitResult>(accountId, 'gateway', properly, senselessResults)
    },
    get: (accountId, remoteId, options) =>
      misconduct.intercept<Observation | undefined>(
        accountId,
        'reads',
        () => gateway.get(accountId, remoteId, options),
        senselessReads,
      ),
    ...(list === undefined
      ? {}
      : {
          list: (accountId, options) =>
            misconduct.intercept(accountId, 'reads', () => list(accountId, options), senselessPages),
        }),
  }
}
