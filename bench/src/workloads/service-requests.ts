import { exchange, type HttpContender, type HttpRequest } from '../contenders/http-contender.ts'
import { countWrongBalances, type ServiceStage, settle } from '../contenders/service-stage.ts'
import type { Contender } from '../contest.ts'
import { measure, type Stretch } from '../measurement.ts'

/** Clients that send requests at once, each on a connection of its own. */
export const clients = 16

/** Requests that change nothing, so that each has one right answer. */
export interface Reading {
  /** The n-th request as this contender understands it. */
  request(n: number, contender: HttpContender): HttpRequest
  /** Status of the answer. */
  readonly status: number
  /** How many requests there are. */
  readonly count: number
  /** Ids of the transfers that the n-th answer holds. */
  ids(n: number): readonly string[]
}

/**
 * Makes a contender of requests that change nothing. Before each turn every request is sent once and must be answered
 * with its transfers; from then on every answer must be the same, to the octet.
 */
export function readingContender(http: HttpContender, reading: Reading): Contender {
  const { connections, database } = http
  const send = (n: number) => exchange(connections, reading.request(n, http), reading.status)
  return {
    name: http.name,
    async round(seconds) {
      const transfers = await countTransfers(http)
      const answers: string[] = []
      for (let n = 0; n < reading.count; n += 1) {
        const answer = await send(n)
        if (String(idsOf(answer)) !== String(reading.ids(n))) throw new Error(`${http.name}: a wrong answer: ${answer}`)
        answers.push(answer)
      }
      const measurement = await measure(database.admin, http.usage, () =>
        load(seconds, clients, async (n) => {
          const answer = await send(n % reading.count)
          if (answer !== answers[n % reading.count])
            throw new Error(`${http.name}: another answer than before: ${answer}`)
        }),
      )
      if ((await countTransfers(http)) !== transfers) throw new Error(`${http.name}: reading has made transfers.`)
      return measurement
    },
  }
}

/** Does something beside a contender's load while that runs. */
export type Beside = (load: () => Promise<Stretch>, http: HttpContender) => Promise<Stretch>

/**
 * Makes a contender of creates, each under a key of its own. After each turn there are as many new transfers as answers
 * with 201, under as many ids; where the engine works, the turn ends when all are complete. The ledger is checked too.
 */
export function createContender(
  http: HttpContender,
  stage: Pick<ServiceStage, 'create' | 'advance'>,
  numbers: { next: number },
  atOnce = clients,
  beside: Beside = (work) => work(),
): Contender {
  const { connections, database } = http
  return {
    name: http.name,
    async round(seconds) {
      const before = await countTransfers(http)
      const ids = new Set<string>()
      const creates = () =>
        load(seconds, atOnce, async () => {
          for (const id of idsOf(await exchange(connections, stage.create(numbers.next++), 201))) ids.add(id)
        })
      const measurement = await measure(database.admin, http.usage, () => beside(creates, http))
      const made = (await countTransfers(http)) - before
      if (made !== measurement.operations || made !== ids.size) {
        throw new Error(`${http.name}: ${measurement.operations} answers, ${ids.size} ids, ${made} new transfers.`)
      }
      if (http.hasEngine) await settle(connections, stage.advance, database.admin)
      if (http.kind === 'service') await proveLedger(http)
      return measurement
    },
  }
}

/** Every client sends its next request as soon as it has its answer. */
async function load(seconds: number, atOnce: number, send: (n: number) => Promise<void>) {
  const endsAt = performance.now() + seconds * 1000
  const latenciesMs: number[] = []
  let next = 0
  const client = async () => {
    for (let from = performance.now(); from < endsAt; ) {
      await send(next++)
      const now = performance.now()
      latenciesMs.push(now - from)
      from = now
    }
  }
  await Promise.all(Array.from({ length: atOnce }, client))
  return { operations: latenciesMs.length, latenciesMs }
}

function idsOf(answer: string): readonly string[] {
  const body = JSON.parse(answer) as
    | { readonly id: string }
    | { readonly transfers: readonly { readonly id: string }[] }
  return 'transfers' in body ? body.transfers.map(({ id }) => id) : [body.id]
}

function countTransfers({ kind, database }: HttpContender): Promise<number> {
  return database.count(`select count(*) from ${kind === 'bare' ? 'bare_transfer' : 'outlay_service.transfer'}`)
}

async function proveLedger({ name, database, hasEngine }: HttpContender): Promise<void> {
  const inexact = await countWrongBalances(database)
  const unbalanced = await database.count(
    `select count(*) from (select from outlay_service.ledger_entry group by value_type having sum(amount) <> 0) as sums`,
  )
  const wrong = await database.count(
    `select count(*) from outlay_service.ledger_balance
      where kind = 'custodial' and (available <> entries_available or held <> entries_held)`,
  )
  const held = await database.count(`select coalesce(sum(held), 0) from outlay_service.ledger_account`)
  if (unbalanced + wrong + inexact !== 0 || (hasEngine && held !== 0)) {
    throw new Error(
      `${name}: the ledger is wrong: ${unbalanced} sums, ${wrong} balances, ${inexact} wallets, ${held} held.`,
    )
  }
}
