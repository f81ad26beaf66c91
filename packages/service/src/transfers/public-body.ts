import { OutlayError } from '@outlay/core'

type Members = Readonly<Record<string, unknown>>

/** How the public contract names members of a leg, and how the specification does, in either spelling. */
const names = {
  source: [['financial_institution_id', 'financialInstitutionId', 'address_id', 'addressId']],
  destination: [
    ['financial_institution_id', 'financialInstitutionId', 'address_id', 'addressId'],
    ['memo', 'memo', 'wire_memo', 'wireMemo'],
  ],
} as const

/**
 * The body of a create as the specification has it, from one of the public contract: the memo of a wire is `destination.memo` there, and a
 * financial institution may stand for its address. Everything else stays.
 * @throws OutlayError `invalid_request` for a member that is there under both names with two values.
 */
export function transferBodyOf(body: unknown): unknown {
  if (!isRecord(body)) return body
  return { ...body, ...legOf(body, 'source'), ...legOf(body, 'destination') }
}

function legOf(body: Members, side: 'source' | 'destination'): Members {
  const leg = body[side]
  if (!isRecord(leg)) return {}
  let renamed = leg
  for (const [snake, camel, to, toCamel] of names[side]) renamed = rename(renamed, side, { snake, camel, to, toCamel })
  return { [side]: renamed }
}

function rename(
  leg: Members,
  side: string,
  {
    snake,
    camel,
    to,
    toCamel,
  }: { readonly snake: string; readonly camel: string; readonly to: string; readonly toCamel: string },
): Members {
  const from = camel in leg && camel !== snake ? camel : snake
  const { [from]: given, ...rest } = leg
  if (given === undefined || given === null) return given === undefined ? leg : rest
  const other = rest[to] ?? rest[toCamel]
  if (other !== undefined && other !== null && other !== given) {
    const message = `${side}.${from}: says something else than ${to}; send one of them`
    throw new OutlayError('invalid_request', message, { field: `${side}.${from}` })
  }
  return other === given ? rest : { ...rest, [toCamel in rest ? toCamel : to]: given }
}

function isRecord(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
