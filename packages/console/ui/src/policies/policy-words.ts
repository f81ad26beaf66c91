/** A policy as it is stored; the server has checked it. */
export interface PolicyData {
  readonly name?: unknown
  readonly when?: Readonly<Record<string, unknown>>
  readonly approvals?: readonly { readonly count?: number; readonly roles?: readonly string[] }[]
  readonly inOrder?: boolean
  readonly hold?: string
  readonly screen?: string
  readonly refuse?: string
}

const list = (value: unknown): string => (Array.isArray(value) ? value.join(' or ') : String(value))

function describeAmounts(value: unknown): string {
  const ranges = Object.entries((value ?? {}) as Readonly<Record<string, { from?: string; below?: string }>>)
  return ranges
    .map(([currency, { from, below }]) =>
      from === undefined
        ? `less than ${below ?? ''} ${currency}`
        : `${from} ${currency} or more${below === undefined ? '' : `, and less than ${below}`}`,
    )
    .join(', or ')
}

function describeTime(value: unknown): string {
  const { zone, from = '00:00', to = '24:00', days } = (value ?? {}) as Readonly<Record<string, unknown>>
  return `it is ${String(from)} to ${String(to)} in ${String(zone)}${days === undefined ? '' : ` on ${list(days)}`}`
}

const writers: Readonly<Record<string, (value: unknown) => string>> = {
  amounts: (value) => `the amount is ${describeAmounts(value)}`,
  currencies: (value) => `${list(value)} moves`,
  flows: (value) => `it is an ${list(value)}`,
  rails: (value) => `it goes by ${list(value)}`,
  accounts: (value) => `the account is ${list(value)}`,
  counterparties: (value) => `it pays ${list(value)}`,
  counterpartyInFull: (value) => `the payee is given ${value === true ? 'in full' : 'by its id'}`,
  metadata: (value) =>
    Object.entries((value ?? {}) as Readonly<Record<string, string>>)
      .map(([name, one]) => `${name} is ${one}`)
      .join(' and '),
  time: describeTime,
  newCounterparty: (value) =>
    value === 'host' ? 'no account has paid the payee before' : 'the account has not paid the payee before',
  lookalike: (value) => {
    const { days = 7 } = (value ?? {}) as Readonly<Record<string, unknown>>
    return `it looks like another one of the last ${days === 1 ? 'day' : `${String(days)} days`}`
  },
}

/** Says in words which transfers a policy is about. */
export function describeConditions({ when = {} }: PolicyData): string {
  const parts = Object.entries(when).map(
    ([name, value]) => writers[name]?.(value) ?? `${name}: ${JSON.stringify(value)}`,
  )
  return parts.length === 0 ? 'always' : parts.join(', and ')
}

/** Says in words what a policy asks for. */
export function describeConsequence({ approvals, inOrder, hold, screen, refuse }: PolicyData): {
  readonly kind: 'approve' | 'hold' | 'screen' | 'refuse'
  readonly words: string
} {
  if (refuse !== undefined) return { kind: 'refuse', words: `refuse it: ${refuse}` }
  if (hold !== undefined) return { kind: 'hold', words: `hold it until somebody releases it: ${hold}` }
  if (screen !== undefined) return { kind: 'screen', words: `screen it before it is sent: ${screen}` }
  const steps = (approvals ?? []).map(
    ({ count = 1, roles }) => `${count} of ${roles === undefined ? 'anybody' : roles.join(' or ')}`,
  )
  return { kind: 'approve', words: `ask for approval: ${steps.join(inOrder === true ? ', then ' : ', and ')}` }
}

/** What some policies are otherwise than others, by their names, as a sentence; undefined where they are the same in the same order. */
export function describeChange(
  before: readonly Readonly<Record<string, unknown>>[],
  after: readonly Readonly<Record<string, unknown>>[],
): string | undefined {
  const texts = (policies: typeof before) => new Map(policies.map((one) => [String(one['name']), JSON.stringify(one)]))
  const [was, is] = [texts(before), texts(after)]
  const changes: readonly (readonly [verb: string, names: readonly string[]])[] = [
    ['adds', [...is.keys()].filter((name) => !was.has(name))],
    ['changes', [...is].filter(([name, text]) => was.has(name) && was.get(name) !== text).map(([name]) => name)],
    ['removes', [...was.keys()].filter((name) => !is.has(name))],
  ]
  const parts = changes.flatMap(([verb, names]) => (names.length === 0 ? [] : [`${verb} ${names.join(', ')}`]))
  const last = parts.pop()
  if (last !== undefined) return `It ${parts.length === 0 ? last : `${parts.join(', ')} and ${last}`}.`
  return JSON.stringify(before) === JSON.stringify(after) ? undefined : 'It changes the order.'
}
