import { OutlayError } from '@outlay/core'
import { refusal } from './problem.ts'

/** Largest body of a request, in octets. */
export const maxBodyBytes = 256 * 1024

/**
 * Reads a JSON body of bounded size.
 * @throws OutlayError `invalid_request` with the status 400, 413 or 415, or with the member that cannot be stored
 */
export async function readJson(request: Request, signal: AbortSignal): Promise<unknown> {
  if (!isJson(request)) throw refusal(415, 'The body is not sent as application/json.')
  const text = await readText(request, signal)
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch {
    throw refusal(400, 'The body is no JSON.')
  }
  checkTexts(body)
  return body
}

/** True for a request whose body is declared to be JSON, which no form of another site can send. */
export const isJson = (request: Request): boolean =>
  /^application\/json\s*(;|$)/i.test(request.headers.get('content-type') ?? '')

async function readText(request: Request, signal: AbortSignal): Promise<string> {
  const chunks: Uint8Array[] = []
  let length = 0
  const reader = request.body?.getReader()
  if (reader === undefined) return ''
  const cancel = () => void reader.cancel().catch(() => undefined)
  signal.addEventListener('abort', cancel, { once: true })
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) break
      length += value.byteLength
      if (length > maxBodyBytes) throw refusal(413, `The body is larger than ${maxBodyBytes} octets.`)
      chunks.push(value)
    }
  } catch (error) {
    cancel()
    throw OutlayError.is(error) ? error : refusal(400, 'The body broke off.')
  } finally {
    signal.removeEventListener('abort', cancel)
  }
  if (signal.aborted) throw refusal(400, 'The body took too long.')
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks))
  } catch {
    throw refusal(400, 'The body is not UTF-8.')
  }
}

/** Deepest nesting of a body. */
const maxDepth = 32

/** Refuses what Postgres cannot store, and what is nested too deep to be read. */
function checkTexts(value: unknown, field = '', depth = 0): void {
  if (typeof value === 'string' && !isStorable(value))
    throw new OutlayError('invalid_request', 'Text must be well-formed Unicode without NUL.', { field })
  if (typeof value !== 'object' || value === null) return
  if (depth >= maxDepth) throw refusal(400, `The body is nested deeper than ${maxDepth} levels.`)
  for (const [name, one] of Object.entries(value)) {
    const own = field === '' ? name : `${field}.${name}`
    // Readers of objects leave this name out, and what narrows a request would be gone.
    if (name === '__proto__') throw new OutlayError('invalid_request', 'This name cannot be used.', { field: own })
    if (!isStorable(name)) throw new OutlayError('invalid_request', 'Names must be well-formed Unicode.', { field })
    checkTexts(one, own, depth + 1)
  }
}

/** True for text that Postgres can store and compare. */
export const isStorable = (text: string): boolean => !text.includes('\0') && text.isWellFormed()
