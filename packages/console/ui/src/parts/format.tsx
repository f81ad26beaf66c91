/** Writes a decimal string with its thousands apart. The digits stay as they are: an amount is never a number. */
export function groupDigits(value: string): string {
  const [whole = '', fraction] = value.split('.')
  const grouped = whole.replaceAll(/\B(?=(\d{3})+(?!\d))/g, ',')
  return fraction === undefined ? grouped : `${grouped}.${fraction}`
}

/** An amount, exactly, with its currency. */
export function Money({ value, currency }: { readonly value: string; readonly currency: string }) {
  return (
    <span className="money" title={`${value} ${currency}`}>
      {groupDigits(value)} <span className="currency">{currency}</span>
    </span>
  )
}

const full = new Intl.DateTimeFormat('en-GB', {
  ...{ day: 'numeric', month: 'short', year: 'numeric', hour: '2-digit', minute: '2-digit', second: '2-digit' },
  timeZoneName: 'short',
})
const short = new Intl.DateTimeFormat('en-GB', {
  ...{ day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit', timeZoneName: 'short' },
})

/** Writes a moment with its zone. */
export const writeMoment = (iso: string): string => full.format(new Date(iso))

/** A moment in the zone of the browser, which it names; the exact one in UTC is its title. */
export function Moment({ at, brief = false }: { readonly at: string | null; readonly brief?: boolean }) {
  if (at === null) return <span className="muted">none</span>
  return (
    <time dateTime={at} title={at} className="moment">
      {(brief ? short : full).format(new Date(at))}
    </time>
  )
}

const units = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
] as const

/** Writes a time span by its two largest units, such as `3 h 12 min`. */
export function writeSpan(ms: number): string {
  let left = Math.max(0, ms)
  const parts: string[] = []
  for (const [name, size] of units) {
    const count = Math.floor(left / size)
    if (count > 0) parts.push(`${count} ${name}`)
    left -= count * size
    if (parts.length === 2) break
  }
  return parts.length === 0 ? `${Math.round(ms)} ms` : parts.join(' ')
}

/** Writes how long ago a moment was. */
export const writeAge = (at: string): string => {
  const ms = Date.now() - Date.parse(at)
  return ms < 0 ? `in ${writeSpan(-ms)}` : `${writeSpan(ms)} ago`
}

/** Writes a count. */
export const writeCount = (count: number): string => count.toLocaleString('en-US')

/** Writes a name of the API as words: `awaiting_funds` is `awaiting funds`. */
export const toWords = (name: string): string => name.replaceAll('_', ' ')

/** Begins a sentence with a capital. */
export const capitalize = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}`
