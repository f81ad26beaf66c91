import type { IncomingMessage, ServerResponse } from 'node:http'

/** What answers one request, as servers of the web's own types call it. */
export type FetchHandler = (request: Request) => Response | Promise<Response>

/**
 * Makes a listener of `node:http` from a handler: for `createServer`, for Express, and for Fastify's raw request and answer. The handler
 * gets no body, since nothing here reads one. What it throws is answered with 500, without its text.
 */
export function nodeListener(handle: FetchHandler): (request: IncomingMessage, response: ServerResponse) => void {
  return (request, response) => {
    void answer(handle, request, response).catch(() => {
      // The connection is gone.
      response.destroy()
    })
  }
}

async function answer(handle: FetchHandler, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const answered = await handled(handle, request)
  const body = Buffer.from(await answered.arrayBuffer())
  response.writeHead(answered.status, Object.fromEntries(answered.headers))
  response.end(request.method === 'HEAD' ? undefined : body)
}

async function handled(handle: FetchHandler, { method = 'GET', url = '/' }: IncomingMessage): Promise<Response> {
  try {
    return await handle(new Request(new URL(pathOf(url), 'http://localhost'), { method }))
  } catch {
    return new Response(null, { status: 500 })
  }
}

/** A path that begins with two slashes would name another host. */
function pathOf(url: string): string {
  return `/${url.replace(/^\/+/, '')}`
}
