import { type Gateway, Id, type TransferEvent } from '@outlay/core'
import type { Decide, QueueUp } from './mortal-driver.ts'
import type { RunContext } from './run-context.ts'

/** Statements that decide who sends what, with whether only their answers show what they are about. */
const ordered: readonly (readonly [ending: string, polls: boolean])[] = [
  ['_fetch', true],
  ['_claim', false],
  ['_settle', false],
]

/** Moments of which it is known what they are about. */
const named: ReadonlySet<Parameters<Decide>[0]> = new Set(['claim', 'submit', 'settle'])

/** Numbers of the payouts that something is about which mentions them. */
export function aboutOf({ numbers }: Pick<RunContext, 'numbers'>, what: unknown): readonly number[] {
  const text = JSON.stringify(what ?? null)
  const ids = text.match(/[0-7][0-9A-HJKMNP-TV-Z]{25}/g) ?? []
  // Jobs have the ids of their transfers, spelled as a UUID.
  const jobs = text.match(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g)?.map(Id.fromUuid) ?? []
  return [...new Set([...ids, ...jobs].flatMap((id) => numbers.get(id) ?? []))].sort((a, b) => a - b)
}

/** Lets the statements and requests of a worker happen in the order of the run. */
export function inTurns({ order, numbers }: Pick<RunContext, 'order' | 'numbers'>, actor: string) {
  const about = (what: unknown) => aboutOf({ numbers }, what)
  const statement: QueueUp = (statement, values, run) => {
    const found = ordered.find(([ending]) => statement.name.endsWith(ending))
    const inside = () => order.gate.enter(run)
    if (found === undefined) return inside()
    const [ending, polls] = found
    const what = ending.slice(1)
    return polls ? order.poll(actor, what, inside, about, []) : order.pass(actor, what, about(values), inside)
  }
  const decide: Decide = (at, what, subject, byItself) => {
    const payouts = about(subject)
    const full = payouts.length === 0 ? what : `${what} of ${payouts}`
    return named.has(at) ? order.befalls(`${actor}: ${full}`, byItself) : order.strikes(actor, full, byItself)
  }
  return {
    statement,
    decide,
    /** Calls of the gateway that send or learn something. */
    gateway: (gateway: Gateway): Gateway => ({
      ...gateway,
      submit: (submission, options) => {
        const number = numbers.get(submission.transferId)
        // The network knows it by its key, and from its answer on it is known by that id too.
        if (number !== undefined) numbers.set(submission.idempotencyKey, number)
        return order.pass(actor, 'submit', about([submission.transferId]), async () => {
          const result = await gateway.submit(submission, options)
          if (result.outcome === 'accepted' && number !== undefined) numbers.set(result.remoteId, number)
          return result
        })
      },
      get: (accountId, remoteId, options) =>
        order.pass(actor, 'read', about([remoteId]), () => gateway.get(accountId, remoteId, options)),
    }),
    /** A handler that receives an event. */
    handler: <T>(name: string, { type, transferId }: TransferEvent, run: () => Promise<T>) =>
      order.pass(actor, `${name} ${type}`, about(transferId), run),
    /** A webhook, with its body. */
    webhook: <T>(body: string, run: () => Promise<T>) => {
      const type = /"type":"([a-z_.]+)"/.exec(body)?.[1] ?? 'unknown'
      return order.pass(actor, `event ${type}`, about(body), run)
    },
  }
}
