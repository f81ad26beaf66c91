import { gunzipSync } from 'node:zlib'
import { files } from '../generated/pages.ts'
import { addressOf } from '../http/address.ts'

/** What every page and file says: nothing comes from another origin, no script stands in a page, and nobody frames it. */
const headers = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'self'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=()',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
} as const

/** First segments of the addresses of pages. */
const pageNames: ReadonlySet<string> = new Set([
  ...['overview', 'transfers', 'approvals', 'batches', 'accounts', 'subscriptions', 'policies', 'limits', 'audit'],
])

const forever = 'public, max-age=31536000, immutable'

/**
 * Answers with a page of the console or a file of it; undefined for any other address, such as one of the API. They are the same for everybody,
 * and have no data: a page asks the API for what it shows.
 */
export function answerPage(request: Request, basePath = ''): Response | undefined {
  const { pathname } = new URL(request.url)
  const isBelow = pathname === basePath || pathname.startsWith(`${basePath}/`)
  const path = basePath !== '' && isBelow ? pathname.slice(basePath.length) : pathname
  if (path === '' || path === '/') return redirect(startOf(request, basePath))
  const [, first = '', ...rest] = path.split('/')
  if (first === 'assets') return answerFile(request, `assets/${rest.join('/')}`)
  if (!pageNames.has(first)) return undefined
  // The host may have the console below any path, so a page says where its start is from itself.
  return answerText(gunzipSync(readGzip('index.html')).toString().replace('<base href="./">', baseOf(rest.length)))
}

const baseOf = (depth: number): string => `<base href="${depth === 0 ? './' : '../'.repeat(depth)}">`

/** The address of the first page, from the one that was asked for, which may lack the slash at its end. */
function startOf(request: Request, basePath: string): string {
  if (basePath !== '') return `${basePath}/overview`
  const last = addressOf(request).split('/').at(-1) ?? ''
  return last === '' ? './overview' : `./${last}/overview`
}

const redirect = (location: string): Response =>
  new Response(null, { status: 302, headers: { ...headers, 'cache-control': 'no-store', location } })

function answerFile(request: Request, name: string): Response | undefined {
  const type = Object.hasOwn(files, name) ? files[name]?.type : undefined
  if (type === undefined) return undefined
  return answerBytes(request, readGzip(name), { 'content-type': type, 'cache-control': forever })
}

const kept = new Map<string, Buffer>()

function readGzip(name: string): Buffer {
  const gzip = kept.get(name) ?? Buffer.from(files[name]?.gzip ?? '', 'base64')
  kept.set(name, gzip)
  return gzip
}

const answerText = (text: string): Response =>
  new Response(text, {
    headers: { ...headers, 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-cache' },
  })

function answerBytes(request: Request, gzip: Buffer, own: Readonly<Record<string, string>>): Response {
  const takesGzip = /\bgzip\b(?!\s*;\s*q=0(\.0*)?\s*(,|$))/i.test(request.headers.get('accept-encoding') ?? '')
  const body = takesGzip ? gzip : gunzipSync(gzip)
  const encoding = takesGzip ? { 'content-encoding': 'gzip' } : {}
  return new Response(new Uint8Array(body), { headers: { ...headers, ...own, ...encoding, vary: 'accept-encoding' } })
}
