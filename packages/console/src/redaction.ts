import { z } from 'zod'

/** A UUID, or a run of digits, in groups or not, that is too long for anything that a person has to read, and no decimal. */
const numbers = /\b[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}\b|(?<![\w.])\d(?:[ -]?\d){6,}(?!\w|\.\d)/gi
const ibans = /\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b/g
const named =
  /\b((?:client[_-]?)?secret|pass(?:word|wd)|(?:access|refresh|id)?[_-]?token|api[_-]?key|authorization)(["']?\s*[:=]\s*["']?)(?:(?:bearer|basic)\s+)?[^\s"',;&]+/gi
const schemes = /\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}/gi
const logins = /:\/\/[^\s/@]+@/g
const keys = /\b(?:whsec|sk|pk|rk)_[A-Za-z0-9_+/=-]{8,}|\beyJ[\w-]+\.[\w-]+\.[\w-]*/g

const hidden = '[hidden]'

const isUuid = (found: string): boolean => /^[\da-f]{8}-[\da-f]{4}-/i.test(found) && found.length === 36

/** Hides what may be an account number or a secret in a text. */
export function redact(text: string): string {
  return text
    .replaceAll(logins, `://${hidden}@`)
    .replaceAll(named, `$1$2${hidden}`)
    .replaceAll(schemes, `$1 ${hidden}`)
    .replaceAll(keys, hidden)
    .replaceAll(ibans, hidden)
    .replaceAll(numbers, (found) => (isUuid(found) ? found : hidden))
}

/** Text that services, handlers and people write freely: what may be an account number or a secret is hidden in it. */
export const foreignText = z.string().overwrite(redact)

/** Members of free structures that are text of people. */
const free = new Set(['why', 'reason', 'note', 'hold', 'refuse', 'detail', 'message', 'error'])

/** The same structure, with what may be an account number or a secret hidden in its free texts. Its depth is bounded. */
export function redactFree(value: unknown, name = '', depth = 0): unknown {
  if (typeof value === 'string') return free.has(name) ? redact(value) : value
  if (typeof value !== 'object' || value === null) return value
  if (depth > 16) return hidden
  if (Array.isArray(value)) return value.map((one) => redactFree(one, name, depth + 1))
  return Object.fromEntries(Object.entries(value).map(([own, one]) => [own, redactFree(one, own, depth + 1)]))
}
