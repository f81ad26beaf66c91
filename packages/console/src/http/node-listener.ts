import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ReadableStream as WebStream } from 'node:stream/web'
import { keepAddress } from './address.ts'

/** What answers one request, as servers of the web's own types call it. */
export type FetchHandler = (request: Request) => Promise<Response>

/** A listener of `node:http`, for `createServer`, for Express, and for the raw request and answer of Fastify. */
export type NodeListener = (request: IncomingMessage, response: ServerResponse) => void

/**
 * Makes a listener of `node:http` from a handler. A body that a parser of the server has read before is taken from where such parsers leave
 * it. When the connection closes, the signal of the request fires. What the handler throws is answered with 500, without its text.
 */
export function nodeListener(handle: FetchHandler): NodeListener {
  return (request, response) => {
    void answer(handle, request, response).catch(() => {
      // The connection is gone.
      response.destroy()
    })
  }
}

async function answer(handle: FetchHandler, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const gone = new AbortController()
  response.once('close', () => gone.abort())
  const answered = await handled(handle, request, gone.signal)
  response.writeHead(answered.status, Object.fromEntries(answered.headers))
  if (answered.body === null || request.method === 'HEAD') response.end()
  // It reads no faster than the client does, and ends when one of the two has gone.
  else await pipeline(Readable.fromWeb(answered.body as WebStream), response)
}

async function handled(handle: FetchHandler, request: IncomingMessage, signal: AbortSignal): Promise<Response> {
  try {
    return await handle(readRequest(request, signal))
  } catch {
    return new Response(null, { status: 500 })
  }
}

function readRequest(request: IncomingMessage, signal: AbortSignal): Request {
  const { method = 'GET', url = '/' } = request
  const headers = new Headers()
  for (const [name, value] of Object.entries(request.headers)) {
    for (const one of [value ?? []].flat()) headers.append(name, one)
  }
  const at = new URL(`/${url.replace(/^\/+/, '')}`, 'http://localhost')
  if (method === 'GET' || method === 'HEAD')
    return keepAddress(new Request(at, { method, headers, signal }), (request as { originalUrl?: unknown }).originalUrl)
  const { body: parsed } = request as { readonly body?: unknown }
  const body = parsed === undefined || !request.readableDidRead ? streamOf(request) : textOf(parsed)
  return new Request(at, { method, headers, body, duplex: 'half', signal } as RequestInit)
}

const textOf = (parsed: unknown): string | Uint8Array<ArrayBuffer> =>
  typeof parsed === 'string' || parsed instanceof Uint8Array
    ? (parsed as string | Uint8Array<ArrayBuffer>)
    : JSON.stringify(parsed)

/**
 * The body as a stream that touches the request only when somebody reads. A body that nobody reads, or not to its end, is drained by the server,
 * so that the answer arrives and the connection lives on.
 */
function streamOf(request: IncomingMessage): ReadableStream<Uint8Array> {
  let isBegun = false
  return new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        if (!isBegun) {
          isBegun = true
          request
            .on('data', (chunk: Buffer) => {
              request.pause()
              controller.enqueue(new Uint8Array(chunk))
            })
            .once('end', () => controller.close())
            .once('error', (error) => controller.error(error))
            .once('close', () => {
              if (!request.complete) controller.error(new Error('The connection was closed.'))
            })
        }
        request.resume()
      },
      cancel() {
        request.removeAllListeners('data').removeAllListeners('end').resume()
      },
    },
    { highWaterMark: 0 },
  )
}
