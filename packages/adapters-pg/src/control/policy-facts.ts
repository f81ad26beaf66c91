import type { ExpectedFacts, KnownPayment, StoredFacts } from '@outlay/core/adapter'
import { storableJson } from '../database/statement.ts'

const parameters = (at: number) =>
  ['text[]', 'text[]', 'text[]', 'text[]', 'jsonb'].map((type, place) => `$${at + place}::${type}`).join(', ')

/** A call in SQL that reads what policies need to know; its values begin at this parameter. */
export const factsOf = (at: number): string => `{{schema}}.policy_facts(${parameters(at)})`

/** The same, null where it is as expected. */
export const otherFacts = (at: number): string => `{{schema}}.other_facts(${parameters(at)}, $${at + 5}::text)`

/** The values of either call. */
export function factValues({ query, text }: Pick<ExpectedFacts, 'query'> & Partial<ExpectedFacts>): readonly unknown[] {
  const { named, addressIds, fingerprints, payees } = query.payees
  const payments = query.payments.length === 0 ? null : storableJson(query.payments)
  return [named, addressIds, fingerprints, payees, payments, ...(text === undefined ? [] : [text])]
}

/** What the functions answer with, as JSON. */
interface FactsJson {
  readonly payees?: readonly { readonly asked: string; readonly name: string; readonly ids: readonly string[] }[] | null
  /** Null where earlier transfers cannot be found. */
  readonly payments?:
    | readonly {
        readonly at: number
        readonly newToAccount?: true
        readonly newToHost?: true
        readonly lookalike?: { readonly id: string; readonly at: string }
        readonly payee?: string
      }[]
    | null
}

/** Reads facts. What one of them does not say of a transfer is as usual. */
export function readFacts(text: string): StoredFacts {
  const { payees, payments = [] } = (text === '' ? {} : JSON.parse(text)) as FactsJson
  const of = (asked: string) => (payees ?? []).filter((row) => row.asked === asked)
  const idsOf = (asked: string) => new Map(of(asked).map(({ name, ids }) => [name, ids]))
  const known = (payments ?? []).map(
    ({ at, newToAccount = false, newToHost = false, lookalike = null, payee }): [number, KnownPayment] => [
      at,
      { isNewToAccount: newToAccount, isNewToHost: newToHost, lookalike, payee },
    ],
  )
  const usual: KnownPayment = { isNewToAccount: false, isNewToHost: false, lookalike: null }
  return {
    payees: {
      byAddressId: idsOf('address_id'),
      byFingerprint: idsOf('fingerprint'),
      byPayee: idsOf('payee'),
      unknown: new Set(of('unknown').flatMap(({ ids }) => ids)),
    },
    payments: new Map(payments !== null && known.length === 0 ? [[0, usual]] : known),
    text,
  }
}
