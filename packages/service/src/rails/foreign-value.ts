import { Amount } from '@outlay/core'
import { z } from 'zod'

/** Control characters and halves of surrogate pairs: no id has them, and Postgres refuses some of them. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern searches for them
const unusual = /[\u0000-\u001f\u007f-\u009f\p{Surrogate}]/u

/** Longest text that is kept; the rest is cut off. */
const longestText = 2_000

/** Years that Postgres reads as they are written here. */
const storedYears = /^(?!0000)\d{4}-/

/**
 * The reference of a payment, which is compared with what its rail has answered itself: 1 to 255 characters without control characters. It is
 * refused and never cleaned, since a cleaned one is another.
 */
export const foreignReference = z
  .string()
  .min(1)
  .max(255)
  .refine((text) => !unusual.test(text))

/** Any other id of a rail or a bank: as above, and without white space at its ends, which would make it another one than without. */
export const foreignId = foreignReference.refine((text) => text.trim() === text)

/** Text for people, at most 2,000 characters. What Postgres cannot store is replaced. */
export const foreignText = z.string().transform(storableText)

/** A Date says the same as its text. */
const writtenMoment = z.union([z.iso.datetime({ offset: true }), z.date().transform((date) => date.toISOString())])

/** A moment with an offset, or a Date, as ISO 8601 in UTC, to the microsecond, in the years 1 to 9999. */
export const foreignMoment = writtenMoment.transform((text, check) => {
  const moment = momentOf(text)
  if (moment === undefined) check.addIssue({ code: 'custom', message: 'It must be in the years 1 to 9999.' })
  return moment ?? ''
})

/** An amount, of which nothing else is kept. */
export const foreignAmount = z.unknown().transform((given, check) => {
  try {
    const { value, currency } = Amount.parse(given)
    if (foreignId.safeParse(currency).success) return { value, currency }
  } catch {
    // It is refused below.
  }
  check.addIssue({ code: 'custom', message: 'It must be an amount.' })
  return z.NEVER
})

/** A detail that is no text is left out: it must not keep money from being booked. */
const detail = foreignText.nullish().catch(undefined)

/** What banks write where they have no id. */
const noName = /^(?:n\/?a|not available|none|null|nil|unknown|undefined|pending|tbd|[\W_0]*)$/i

/** An id that names one payment and no other, without white space at its ends; `undefined` for a word that says that there is none. */
export function namedBy(id: string | null | undefined): string | undefined {
  const name = (id ?? '').trim()
  return noName.test(name) ? undefined : name
}

/** Null stays as it is: a fact that is reported again is the same one. */
const imad = detail.transform((read) => (read === null ? null : namedBy(read))).optional()

/** How to trace a payment. What the port does not describe is left out. */
export const foreignDetails = z.object({
  ...{ receivedAt: detail, senderName: detail, senderBankName: detail, senderBankRoutingNumber: detail },
  ...{ paymentReference: detail, imad, traceNumber: detail },
})

/** A member that may be missing. Null says as much as nothing. */
export const optional = <T extends z.ZodType>(member: T) => member.nullish().transform((value) => value ?? undefined)

/** The same text without what Postgres cannot store, and not longer than 2,000 characters. */
function storableText(text: string): string {
  return text.slice(0, longestText).toWellFormed().replaceAll('\0', '\ufffd')
}

function momentOf(text: string): string | undefined {
  const date = new Date(text)
  const written = Number.isNaN(date.getTime()) ? '' : date.toISOString()
  if (!storedYears.test(written)) return undefined
  // A Date has milliseconds, and Postgres has microseconds.
  const finer = (/\.\d{3}(\d{1,3})/.exec(text)?.[1] ?? '').replace(/0+$/, '')
  return finer === '' ? written : `${written.slice(0, -1)}${finer}Z`
}
