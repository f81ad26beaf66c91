import type { Engine } from '@outlay/core'
import type { Knex } from 'knex'
import type { Service } from './engine.ts'
import type { Author, Period, Statement } from './schema.ts'

/** A request breaks a rule of the publisher. */
export class Refusal extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

/** The account that closes a period, and the period. */
export interface Closing {
  readonly db: Knex
  readonly engine: Engine<Knex.Transaction>
  readonly service: Service
  readonly period: string
  /** Memo for the authors' banks, at most 140 characters. */
  readonly memo: string | undefined
}

/** Closes a period: every author with royalties gets a statement and its payout, all of them or none. */
export async function closePeriod({ db, engine, service, period, memo }: Closing): Promise<readonly Statement[]> {
  return db.transaction(async (tx) => {
    // The first request locks the period. A second one waits here, and then finds it closed.
    const found = await tx<Period>('period').where({ id: period }).forUpdate().first()
    if (found === undefined) throw new Refusal(404, 'There is no such period.')
    const statements = () => tx<Statement>('statement').where({ period_id: period }).orderBy('author_id')
    if (found.closed_at !== null) return statements()

    const authors = await tx<Author>('author').where('royalties', '>', '0').orderBy('id').forUpdate()
    const transfers = await engine.transfers.enqueueMany(
      tx,
      authors.map((author) => ({
        accountId: service.accountId,
        idempotencyKey: `statement/${period}/${author.id}`,
        amount: { value: author.royalties, currency: 'USD' },
        source: { addressId: service.walletId, valueType: 'USDC', transferType: 'base' },
        destination: { addressId: author.bank_id, valueType: 'USD', transferType: 'wire', wireMemo: memo },
        note: `royalties ${period} ${author.id}`,
      })),
    )

    // Then the host's rows. An error from here on rolls the payouts back.
    const rows = authors.map(({ id, royalties }, index) => ({
      period_id: period,
      author_id: id,
      amount: royalties,
      transfer_id: transfers[index]?.id ?? '',
    }))
    if (rows.length > 0) await tx<Statement>('statement').insert(rows)
    await tx<Author>('author')
      .whereIn(
        'id',
        authors.map(({ id }) => id),
      )
      .update({ royalties: '0' })
    await tx<Period>('period').where({ id: period }).update({ closed_at: new Date() })
    const total = tx<Statement>('statement').where({ period_id: period }).sum('amount')
    const over = await tx<Period>('period').where({ id: period }).where('budget', '<', total).first()
    if (over !== undefined) throw new Refusal(409, 'That is more than the budget of the period.')
    return statements()
  })
}
