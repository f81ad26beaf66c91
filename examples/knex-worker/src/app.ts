import { createServer, type IncomingMessage, type Server } from 'node:http'
import { buffer, json } from 'node:stream/consumers'
import { type Engine, OutlayError } from '@outlay/core'
import type { Knex } from 'knex'
import type { Service } from './engine.ts'
import { closePeriod, Refusal } from './royalties.ts'
import type { Statement } from './schema.ts'

/** Dependencies of the application. */
export interface Host {
  readonly db: Knex
  readonly engine: Engine<Knex.Transaction>
  readonly service: Service
}

/** The answer to a request. */
interface Answer {
  readonly status: number
  readonly body?: unknown
}

/** Builds the application of the web process. Its engine never runs. */
export function createApp(host: Host): Server {
  return createServer(async (request, response) => {
    const { status, body } = await route(host, request).catch(answerError)
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(body === undefined ? undefined : JSON.stringify(body))
  })
}

async function route({ db, engine, service }: Host, request: IncomingMessage): Promise<Answer> {
  const [, first, second = '', third] = (request.url ?? '').split('/')
  switch (`${request.method} ${first} ${third ?? ''}`.trim()) {
    case 'POST periods statements': {
      const { memo } = ((await json(request)) ?? {}) as { memo?: string }
      return { status: 202, body: await closePeriod({ db, engine, service, period: second, memo }) }
    }
    case 'GET periods statements':
      return { status: 200, body: await db<Statement>('statement').where({ period_id: second }).orderBy('author_id') }
    case `POST webhooks ${service.accountId}`: {
      // The received octets, not a parsed body: the signature covers the octets.
      const webhook = { body: await buffer(request), headers: request.headers }
      return { status: (await engine.webhook(webhook, { accountId: service.accountId })).status }
    }
    default:
      return { status: 404, body: { message: 'There is no such route.' } }
  }
}

function answerError(error: unknown): Answer {
  if (error instanceof Refusal) return { status: error.status, body: { message: error.message } }
  if (error instanceof SyntaxError) return { status: 400, body: { message: 'The body is not JSON.' } }
  // A refusal that names a field is the caller's error. Any other error is ours.
  if (OutlayError.is(error) && error.field !== undefined) {
    return { status: 422, body: { code: error.code, field: error.field, message: error.message } }
  }
  console.error(error)
  return { status: 500, body: { message: 'Something went wrong here.' } }
}
