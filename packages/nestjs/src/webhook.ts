import { HttpException, NotFoundException, UnsupportedMediaTypeException } from '@nestjs/common'
import { type AtGateway, type Engine, type IncomingWebhook, OutlayError } from '@outlay/core'
import { nestLogger } from './nest-logger.ts'

/** What is read of a request of Express or Fastify, in an application that was created with `rawBody: true`. */
export interface WebhookRequest {
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  /** The octets received. */
  readonly rawBody?: Uint8Array | undefined
}

/**
 * Verifies a webhook of the service and applies it, in the handler of a POST route with `@HttpCode(200)`. Answers a refusal with the
 * status of `engine.webhook` and no reason. What the vault or the database throws is passed on: Nest answers 500, and the service
 * sends the webhook again.
 *
 * @throws HttpException with the status 400, 401 or 503, 404 for what can be no account, and 415 for a body that no parser of the
 *   application has read; Error for an application without `rawBody: true`
 * @example
 * \@Post(':accountId')
 * \@HttpCode(200)
 * receive(@Req() request: RawBodyRequest<Request>, @Param('accountId') accountId: string) {
 *   return receiveWebhook(this.engine, request, { accountId })
 * }
 */
export async function receiveWebhook(
  engine: Pick<Engine<never>, 'webhook'>,
  request: WebhookRequest,
  at: AtGateway & { readonly accountId: string },
): Promise<void> {
  const webhook = readWebhook(engine, request)
  const { status } = await engine.webhook(webhook, at).catch((error: unknown) => {
    if (OutlayError.is(error) && error.field === 'accountId') throw new NotFoundException()
    throw error
  })
  if (status !== 200) throw new HttpException({ statusCode: status }, status)
}

function readWebhook(engine: object, { headers, rawBody }: WebhookRequest): IncomingWebhook {
  if (rawBody !== undefined) return { body: rawBody, headers }
  // Nest keeps no octets of an empty body, nor of what it does not parse.
  const { 'content-length': length, 'transfer-encoding': encoding, 'content-type': type = '' } = headers
  if ((length === undefined || length === '0') && encoding === undefined) return { body: '', headers }
  if (/^application\/json\b/i.test(String(type)))
    throw new Error('The octets of a webhook were not kept; create the application with { rawBody: true }.')
  hintAtParser(engine, String(type))
  throw new UnsupportedMediaTypeException()
}

const hinted = new WeakSet<object>()

/** Says it once for an engine: whoever finds the route can send anything. */
function hintAtParser(engine: object, type: string): void {
  if (hinted.has(engine)) return
  hinted.add(engine)
  const what = 'The body of a webhook was not read: its content type has no parser that keeps the octets.'
  const cure = `If it is the service that sends it so, give app.useBodyParser() one for this type; the application needs { rawBody: true }.`
  nestLogger('webhooks').warn({ contentType: type.slice(0, 100) }, `${what} ${cure}`)
}
