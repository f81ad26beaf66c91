import { z } from 'zod'

/** What stands between the groups of a number. */
const gap = '[ \\u00a0\\u2007\\u2009\\u202f./-]?'
const digits = (more: number) => `\\p{Nd}(?:${gap}\\p{Nd}){${more},}`
/** No number that is too long for anything that a person has to read: a UUID, a date and an address of a network. */
const readable = [
  '\\b[\\da-f]{8}(?:-[\\da-f]{4}){3}-[\\da-f]{12}\\b',
  '\\b(?:19|20)\\d\\d(?<a>[./-])(?:0[1-9]|1[0-2])\\k<a>(?:0[1-9]|[12]\\d|3[01])(?= \\d\\d:|(?!\\w|[ ./-]?\\d))',
  '\\b(?:0?[1-9]|[12]\\d|3[01])(?<b>[./])(?:0?[1-9]|1[0-2])\\k<b>(?:19|20)\\d\\d(?= \\d\\d:|(?!\\w|[ ./-]?\\d))',
  '(?<![\\w.])\\d{1,3}(?:\\.\\d{1,3}){3}(?![\\w.])',
  // A decimal.
  '(?<![\\w.])\\d{1,3}(?:[ \\u00a0\\u202f]\\d{3})*\\.\\d+(?![\\w./-])|(?<![\\w.])\\d+\\.\\d+(?![\\w/-]|\\.\\d)',
]
/** Such numbers, which stay, or a run of digits, in groups or not, behind the letters of its word. */
const numbers = new RegExp(
  `(?<readable>${readable.join('|')})|(?<![\\w\\p{Nd}]|\\p{Nd}\\.)(?<word>[a-z_]*)${digits(6)}(?![\\w\\p{Nd}]|\\.\\p{Nd})`,
  'giu',
)
const ibans = /\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b/g
/** As others write them, in lower case: in one piece by their many digits, and in groups by their checksum. */
const smallIbans = /\b[a-z]{2}\d{2}(?=(?:[a-z]*\d){9})[a-z0-9]{11,30}\b/gi
const groupedIbans = /\b[a-z]{2}\d{2}(?: [a-z0-9]{4}){2,7}(?: [a-z0-9]{1,3})?\b/gi
/** Numbers that are short, or in one word with their name. */
const label = '[ _-]?(?:number|num|no|nr|id)'
const accounts = new RegExp(
  `((?:(?<![a-z])(?:a/c|acct?|iban|clabe|routing|sort[ _-]?code)(?:${label})?|account${label})[ .:=#"']*)${digits(3)}`,
  'giu',
)
const accountWords = /(\baccount)(\d{4,})/gi
const named =
  /\b((?:client[_-]?)?secret|pass(?:word|wd)|(?:access|refresh|id)?[_-]?token|api[_-]?key|authorization)(["']?\s*[:=]\s*["']?)(?:(?:bearer|basic)\s+)?[^\s"',;&]+/gi
const schemes = /\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}/gi
const logins = /:\/\/[^\s/@]+@/g
const keys = /\b(?:whsec|sk|pk|rk)_[A-Za-z0-9_+/=-]{8,}|\beyJ[\w-]+\.[\w-]+\.[\w-]*/g

/** What stands in place of what is not shown. */
export const hidden = '[hidden]'

/** Hides the longest run of groups that has the checksum of an IBAN: words of a sentence may have four letters, too. */
function hideIban(found: string): string {
  const groups = found.split(' ')
  for (let count = groups.length; count > 3; count -= 1) {
    if (isIban(groups.slice(0, count).join(''))) return [hidden, ...groups.slice(count)].join(' ')
  }
  return found
}

function isIban(text: string): boolean {
  const digits = [...text.slice(4), ...text.slice(0, 4)].map((one) => String(Number.parseInt(one, 36))).join('')
  return text.length >= 15 && text.length <= 34 && BigInt(digits) % 97n === 1n
}

/** Hides what may be an account number or a secret in a text. */
export function redact(text: string): string {
  return text
    .replaceAll(logins, `://${hidden}@`)
    .replaceAll(named, `$1$2${hidden}`)
    .replaceAll(schemes, `$1 ${hidden}`)
    .replaceAll(keys, hidden)
    .replaceAll(ibans, hidden)
    .replaceAll(smallIbans, hidden)
    .replaceAll(groupedIbans, hideIban)
    .replaceAll(accounts, `$1${hidden}`)
    .replaceAll(accountWords, `$1${hidden}`)
    .replaceAll(numbers, (found, ...rest) => {
      const { readable: kept, word } = rest.at(-1) as { readonly readable?: string; readonly word?: string }
      return kept === undefined ? `${word ?? ''}${hidden}` : found
    })
}

/** Text that services, handlers and people write freely: what may be an account number or a secret is hidden in it. */
export const foreignText = z.string().overwrite(redact)

/** Members of free structures that are text of people. */
const free = new Set(['why', 'reason', 'note', 'hold', 'refuse', 'detail', 'message', 'error'])

/**
 * The same structure, with what may be an account number or a secret hidden in its free texts, and in values of metadata unless their names are
 * shown. Its depth is bounded.
 */
export function redactFree(value: unknown, shownMetadata: ReadonlySet<string>): unknown {
  const view = (one: unknown, name: string, inMetadata: boolean, depth: number): unknown => {
    if (typeof one === 'string') return (inMetadata ? !shownMetadata.has(name) : free.has(name)) ? redact(one) : one
    if (typeof one !== 'object' || one === null) return one
    if (depth > 16) return hidden
    if (Array.isArray(one)) return one.map((each) => view(each, name, inMetadata, depth + 1))
    const isMetadata = inMetadata || name === 'metadata'
    return Object.fromEntries(Object.entries(one).map(([own, each]) => [own, view(each, own, isMetadata, depth + 1)]))
  }
  return view(value, '', false, 0)
}
