import { type Engine, OutlayError } from '@outlay/core'
import fastify, { type FastifyInstance } from 'fastify'
import { sql, type Transaction } from 'kysely'
import type { Service } from './engine.ts'
import type { Database, Tables } from './schema.ts'

/** Dependencies of the application. */
export interface Host {
  readonly database: Database
  readonly engine: Engine<Transaction<Tables>>
  readonly service: Service
}

/** Builds the application. The engine need not run. */
export function createApp(host: Host): FastifyInstance {
  const { engine } = host
  const { db } = host.database
  const app = fastify()

  app.post<{ Params: { id: string }; Body: { amount?: string } | null }>(
    '/claims/:id/settlement',
    async (request, reply) => {
      const { id } = request.params
      const { amount = '' } = request.body ?? {}
      const settled = await settleClaim(host, id, amount)
      return reply.code(202).send(settled)
    },
  )

  app.get<{ Params: { id: string } }>('/claims/:id', async (request) => {
    const claim = await db.selectFrom('claim').selectAll().where('id', '=', request.params.id).executeTakeFirst()
    if (claim === undefined) throw new Refusal(404, 'There is no such claim.')
    return claim
  })

  // A separate scope in which bodies stay the received octets, which the signature covers.
  app.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
    scope.post<{ Params: { accountId: string }; Body: Buffer }>(
      '/webhooks/outlay/:accountId',
      async (request, reply) => {
        const { body, headers, params } = request
        const { status } = await engine.webhook({ body: body ?? '', headers }, { accountId: params.accountId })
        return reply.code(status).send()
      },
    )
  })

  app.setErrorHandler((error: Error & { statusCode?: number }, _request, reply) => {
    // A refusal that names a field is the caller's error. Any other error is ours, unless it has a status.
    if (OutlayError.is(error) && error.field !== undefined) {
      return reply.code(422).send({ code: error.code, field: error.field, message: error.message })
    }
    if (error.statusCode !== undefined) return reply.code(error.statusCode).send({ message: error.message })
    console.error(error)
    return reply.code(500).send({ message: 'Something went wrong here.' })
  })
  return app
}

/** Settles a claim: the settlement, the used amount of the policy and the payout commit together. */
async function settleClaim({ database: { db }, engine, service }: Host, id: string, amount: string) {
  return db.transaction().execute(async (tx) => {
    const policy = await tx
      .selectFrom('claim')
      .innerJoin('policy', 'policy.id', 'claim.policy_id')
      .select(['policy.id', 'policy.bank_id'])
      .where('claim.id', '=', id)
      .executeTakeFirst()
    if (policy === undefined) throw new Refusal(404, 'There is no such claim.')

    // First the payout: it refuses an invalid request before any SQL, and it detects a repeated request.
    const transfer = await engine.transfers.enqueue(tx, {
      accountId: service.accountId,
      idempotencyKey: `claim/${id}`,
      amount: { value: amount, currency: 'USD' },
      source: { addressId: service.walletId, valueType: 'USDC', transferType: 'base' },
      destination: { addressId: policy.bank_id, valueType: 'USD', transferType: 'wire', wireMemo: `Claim ${id}` },
      note: `claim ${id}`,
    })
    const claim = tx.selectFrom('claim').selectAll().where('id', '=', id)
    if (transfer.reused) return claim.executeTakeFirstOrThrow()

    // Then the host's rows. An error from here on rolls the payout back.
    await tx
      .updateTable('claim')
      .set({ status: 'settled', settlement: amount, transfer_id: transfer.id })
      .where('id', '=', id)
      .execute()
    const { numUpdatedRows } = await tx
      .updateTable('policy')
      .set({ paid_out: sql`paid_out + ${amount}` })
      .where('id', '=', policy.id)
      .where(sql<boolean>`paid_out + ${amount} <= "limit"`)
      .executeTakeFirst()
    if (numUpdatedRows === 0n) throw new Refusal(409, 'That is more than the policy covers.')
    return claim.executeTakeFirstOrThrow()
  })
}

/** A request breaks a rule of the insurer. */
class Refusal extends Error {
  readonly statusCode: number

  constructor(statusCode: number, message: string) {
    super(message)
    this.statusCode = statusCode
  }
}
