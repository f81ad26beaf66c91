import { LockMode, RequestContext } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/postgresql'
import { type Engine, OutlayError } from '@outlay/core'
import fastify, { type FastifyInstance } from 'fastify'
import { type Database, readBalance } from './database.ts'
import type { Service } from './engine.ts'
import { Entry, Saver, Withdrawal } from './entities.ts'

/** Dependencies of the application. */
export interface Host {
  readonly database: Database
  readonly engine: Engine<EntityManager>
  readonly service: Service
}

/** A saver's request. */
interface Withdrawing {
  readonly saverId: string
  readonly name: string
  /** In dollars; not checked yet. */
  readonly amount: string
}

/** Builds the application. The engine need not run. */
export function createApp(host: Host): FastifyInstance {
  const { engine } = host
  const { orm } = host.database
  const app = fastify()

  // Each request has an entity manager of its own, which `orm.em` stands for.
  app.addHook('onRequest', (_request, _reply, done) => RequestContext.create(orm.em, done))

  app.put<{ Params: { saverId: string; name: string }; Body: { amount?: string } | null }>(
    '/savers/:saverId/withdrawals/:name',
    async (request, reply) => {
      const { amount = '' } = request.body ?? {}
      return reply.code(202).send(view(await withdraw(host, { ...request.params, amount })))
    },
  )

  app.get<{ Params: { saverId: string; name: string } }>('/savers/:saverId/withdrawals/:name', async (request) => {
    const { saverId, name } = request.params
    const withdrawal = await orm.em.findOne(Withdrawal, { saver: saverId, name })
    if (withdrawal === null) throw new Refusal(404, 'There is no such withdrawal.')
    return view(withdrawal)
  })

  app.get<{ Params: { id: string } }>('/savers/:id', async (request) => {
    const saver = await orm.em.findOne(Saver, { id: request.params.id })
    if (saver === null) throw new Refusal(404, 'There is no such saver.')
    const entries = await orm.em.find(Entry, { saver }, { orderBy: { id: 'asc' } })
    return {
      balance: await readBalance(orm.em, saver.id),
      entries: entries.map(({ amount, reason }) => [amount, reason]),
    }
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

/** Takes money out: the withdrawal, its entry and the payout commit together. */
async function withdraw({ database: { orm }, engine, service }: Host, { saverId, name, amount }: Withdrawing) {
  return orm.em.transactional(async (tx) => {
    // Withdrawals of one saver wait for each other, so that their sum is within the balance.
    const saver = await tx.findOne(Saver, { id: saverId }, { lockMode: LockMode.PESSIMISTIC_WRITE })
    if (saver === null) throw new Refusal(404, 'There is no such saver.')

    // First the payout: it refuses an invalid request before any SQL, and it detects a repeated request.
    const transfer = await engine.transfers.enqueue(tx, {
      accountId: service.accountId,
      idempotencyKey: `withdrawal/${saverId}/${name}`,
      amount: { value: amount, currency: 'USD' },
      source: { addressId: service.walletId, valueType: 'USDC', transferType: 'base' },
      destination: { addressId: saver.bankId, valueType: 'USD', transferType: 'ach_credit' },
      note: `withdrawal ${name}`,
    })
    if (transfer.reused) return tx.findOneOrFail(Withdrawal, { transferId: transfer.id })

    // Then the host's entities. An error from here on, in a flush too, rolls the payout back.
    const withdrawal = tx.create(Withdrawal, { transferId: transfer.id, saver, name, amount, status: 'on_its_way' })
    tx.create(Entry, { saver, amount: `-${amount}`, reason: `withdrawal: ${name}` })
    await tx.flush()
    if ((await readBalance(tx, saverId)).startsWith('-')) throw new Refusal(409, 'The balance is less than that.')
    return withdrawal
  })
}

/** Not the entity itself: what is loaded of its relations differs from one request to the next. */
const view = ({ transferId, name, amount, status }: Withdrawal) => ({ transferId, name, amount, status })

/** A request breaks a rule of the savings app. */
class Refusal extends Error {
  readonly statusCode: number

  constructor(statusCode: number, message: string) {
    super(message)
    this.statusCode = statusCode
  }
}
