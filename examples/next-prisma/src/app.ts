import * as payment from './app/api/invoices/[id]/payment/route.ts'
import * as invoice from './app/api/invoices/[id]/route.ts'
import * as webhooks from './app/webhooks/outlay/[accountId]/route.ts'

type Handler = (request: Request, segment: string) => Promise<Response>

/** The routes that Next derives from the files in `app/`. */
const routes: readonly (readonly [method: string, path: RegExp, handler: Handler])[] = [
  ['POST', /^\/api\/invoices\/([^/]+)\/payment$/, (request, id) => payment.POST(request, { params: at({ id }) })],
  ['GET', /^\/api\/invoices\/([^/]+)$/, (request, id) => invoice.GET(request, { params: at({ id }) })],
  [
    'POST',
    /^\/webhooks\/outlay\/([^/]+)$/,
    (request, accountId) => webhooks.POST(request, { params: at({ accountId }) }),
  ],
]

const at = <T>(params: T): Promise<T> => Promise.resolve(params)

/** Stands in for Next: finds the route handler of a request. */
export async function handle(request: Request): Promise<Response> {
  const { pathname } = new URL(request.url)
  for (const [method, path, handler] of routes) {
    const segment = method === request.method ? path.exec(pathname)?.[1] : undefined
    if (segment !== undefined) return handler(request, decodeURIComponent(segment))
  }
  return Response.json({ message: 'There is no such route.' }, { status: 404 })
}
