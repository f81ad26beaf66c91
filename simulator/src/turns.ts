import type { Gateway } from '@outlay/core'
import type { QueueUp } from './mortal-driver.ts'
import type { Surroundings } from './worker.ts'

/** Statements that decide who sends what, with whether only their answers tell what they are about. */
const ordered: readonly (readonly [ending: string, polls: boolean])[] = [
  ['_fetch', true],
  ['_take', false],
  ['_settle', false],
]

/** Lets the statements and requests of a worker happen in the order of the run. */
export function inTurns({ order, numbers }: Pick<Surroundings, 'order' | 'numbers'>, actor: string) {
  const about = (what: unknown): readonly number[] => {
    const ids = JSON.stringify(what).match(/[0-7][0-9A-HJKMNP-TV-Z]{25}/g) ?? []
    return [...new Set(ids.flatMap((id) => numbers.get(id) ?? []))].sort((a, b) => a - b)
  }
  const statement: QueueUp = (statement, values, run) => {
    const found = ordered.find(([ending]) => statement.name.endsWith(ending))
    if (found === undefined) return run()
    const [ending, polls] = found
    return polls ? order.pass(actor, ending, null, run, about) : order.pass(actor, ending, about(values), run)
  }
  return {
    statement,
    /** Calls of the gateway that send or learn something. */
    gateway: (gateway: Gateway): Gateway => ({
      ...gateway,
      submit: (submission, options) =>
        order.pass(actor, 'submit', about([submission.transferId]), async () => {
          const result = await gateway.submit(submission, options)
          const number = numbers.get(submission.transferId)
          // From now on the payout is known by this id too.
          if (result.outcome === 'accepted' && number !== undefined) numbers.set(result.remoteId, number)
          return result
        }),
      get: (accountId, remoteId, options) =>
        order.pass(actor, 'read', about([remoteId]), () => gateway.get(accountId, remoteId, options)),
    }),
    /** A webhook, with its body. */
    letter: <T>(body: string, run: () => Promise<T>) => {
      const type = /"type":"([a-z_.]+)"/.exec(body)?.[1] ?? 'unknown'
      return order.pass(actor, `letter ${type}`, about(body), run)
    },
  }
}
