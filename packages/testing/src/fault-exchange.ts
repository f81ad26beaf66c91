import {
  type Agent,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  request as open,
  type ServerResponse,
} from 'node:http'
import { buffer } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { setTimeout as delay } from 'node:timers/promises'
import type { Page, Plan } from './faults.ts'

/** One request through a fault proxy. */
export interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly target: URL
  /** Keeps the connection to the target for the client's connection. */
  readonly agent: Agent | undefined
  readonly plan: Plan
  isStopped(): boolean
}

/** Headers that concern one connection only. */
const hopByHop = new Set(['connection', 'keep-alive', 'proxy-connection', 'expect', 'upgrade'])

/** Passes one request through the proxy by its plan. Rejects when a connection breaks. */
export async function exchange(link: Exchange): Promise<void> {
  const { request, response, plan } = link
  const { fault } = plan
  const isHeld = plan.holdRequest.length > 0 || plan.delayRequestMs > 0
  // Read before it is held, so that the client may disconnect in the meantime.
  const body = isHeld ? await buffer(request) : undefined
  await Promise.all(plan.holdRequest.map((gate) => gate.enter()))
  await delay(plan.delayRequestMs)
  const isLate = request.socket.destroyed
  if (isLate && (link.isStopped() || !plan.holdRequest.some((gate) => gate.deliverLate))) return
  if (fault?.kind === 'drop_request') return reset(request)
  if (fault?.kind === 'refuse') {
    request.resume()
    const retryAfter = fault.retryAfterSeconds
    const headers = retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) }
    return refuse(response, fault.status ?? 429, headers, fault.page)
  }
  const answer = await send(link, body, isLate)
  if (fault === undefined && plan.holdResponse.length === 0 && plan.delayResponseMs === 0) {
    return passOn(response, answer)
  }
  await settle(link, answer)
}

/** Sends the request on and resolves with the head of the answer. A disconnected client's request uses a separate connection. */
function send(link: Exchange, body: Buffer | undefined, isLate: boolean): Promise<IncomingMessage> {
  const { request, target } = link
  const upstream = open({
    host: target.hostname.replace(/^\[|\]$/g, ''),
    port: target.port || 80,
    method: request.method,
    path: request.url,
    headers: copyHeaders(request),
    agent: isLate ? false : link.agent,
  })
  return new Promise((resolve, reject) => {
    upstream.once('response', resolve)
    upstream.on('error', reject)
    if (body === undefined) request.pipe(upstream)
    else upstream.end(body)
  })
}

function passOn(response: ServerResponse, answer: IncomingMessage): Promise<void> {
  writeHead(response, answer)
  return pipeline(answer, response)
}

/** The target has acted. Its whole answer is read before a fault applies. */
async function settle({ request, response, plan }: Exchange, answer: IncomingMessage): Promise<void> {
  const { fault } = plan
  const body = await buffer(answer)
  await Promise.all(plan.holdResponse.map((gate) => gate.enter()))
  await delay(plan.delayResponseMs)
  if (request.socket.destroyed) return
  if (fault?.kind === 'drop_response') return reset(request)
  if (fault?.kind === 'fail_after') return refuse(response, fault.status ?? 500, {}, fault.page)
  writeHead(response, answer)
  if (fault?.kind !== 'reset_body') {
    response.end(body)
    return
  }
  response.flushHeaders()
  const part = body.subarray(0, fault.bytes ?? Math.floor(body.length / 2))
  if (part.length > 0) await new Promise((resolve) => response.write(part, resolve))
  reset(request)
}

function refuse(response: ServerResponse, status: number, headers: OutgoingHttpHeaders, page?: Page): void {
  const problem = { type: 'about:blank', title: 'Injected by the fault proxy', status }
  const { contentType, body } = page ?? { contentType: 'application/problem+json', body: JSON.stringify(problem) }
  response.writeHead(status, { 'content-type': contentType, ...headers }).end(body)
}

function writeHead(response: ServerResponse, answer: IncomingMessage): void {
  response.sendDate = false
  response.writeHead(answer.statusCode ?? 502, answer.statusMessage, copyHeaders(answer))
}

function copyHeaders(message: IncomingMessage): OutgoingHttpHeaders {
  const headers: OutgoingHttpHeaders = {}
  for (const [name, values = []] of Object.entries(message.headersDistinct)) {
    if (!hopByHop.has(name)) headers[name] = values.length === 1 ? values[0] : values
  }
  return headers
}

function reset(request: IncomingMessage): void {
  if (!request.socket.destroyed) request.socket.resetAndDestroy()
}
