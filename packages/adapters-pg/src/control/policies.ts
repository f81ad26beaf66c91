import type { Policy, PolicyVersion } from '@outlay/core'
import { Column, type PolicyPort, rowDecoder } from '@outlay/core/adapter'
import type { Driver } from '../database/driver.ts'
import { readFirst } from '../database/read-rows.ts'
import { type Row, statements, storableJson } from '../database/statement.ts'
import { makePaymentIndexes } from '../schema/payment-indexes.ts'
import { factsOf, factValues, readFacts } from './policy-facts.ts'

const versionText = `select v.version, v.policies, v.actor, v.reason, {{schema}}.iso(v.set_at) as set_at from {{schema}}.policy_version v`

const texts = {
  read_policies: `select s.version, s.tag, v.policies from {{schema}}.policy_state s join {{schema}}.policy_version v on v.version = s.version`,
  policies: `${versionText} order by v.version desc limit 1`,
  policies_of_version: `${versionText} where v.version = $1`,
  lock_policies: `select pg_advisory_xact_lock(hashtextextended('outlay policies {{schema}}', 0))::text`,
  policy_facts: `select ${factsOf(1)} as facts`,
  has_payment_indexes: 'select {{schema}}.has_payment_indexes() as is_there',
  set_policies: 'select {{schema}}.set_next_policies($1, $2::jsonb, $3, $4) as is_set',
} as const

/** Before any were set. */
const noVersion: PolicyVersion = { version: 0, policies: [], setAt: null, actor: null, reason: null }

/** Makes the store of policies on a driver. */
export function createPolicyStore<Tx>(driver: Driver<Tx>, tokens: Readonly<Record<string, string>>): PolicyPort<Tx> {
  const sql = statements(tokens, texts)
  const read = (rows: readonly Row[]): PolicyVersion | undefined => readFirst(readVersion, rows)
  return {
    async readPolicies(tx) {
      const known = readFirst(readKnown, await driver.execute(tx, sql.read_policies, []))
      return known ?? { version: 0, tag: null, policies: [] }
    },
    async readFacts(tx, query) {
      const rows = await driver.execute(tx, sql.policy_facts, factValues({ query }))
      return readFacts(readFirst(readText, rows)?.facts ?? '')
    },
    preparePolicies: (onStep) =>
      makePaymentIndexes(driver, (tokens['schema'] ?? '').replaceAll('"', ''), tokens, onStep),
    async arePoliciesPrepared(tx) {
      return readFirst(readIsThere, await driver.execute(tx, sql.has_payment_indexes, []))?.isThere === true
    },
    async getPolicies(version, tx) {
      const [statement, values] = version === undefined ? [sql.policies, []] : [sql.policies_of_version, [version]]
      const rows = await (tx === undefined ? driver.query(statement, values) : driver.execute(tx, statement, values))
      return read(rows) ?? (version === undefined || version === 0 ? noVersion : undefined)
    },
    async lockPolicies(tx) {
      await driver.execute(tx, sql.lock_policies, [])
      return read(await driver.execute(tx, sql.policies, [])) ?? noVersion
    },
    async setPolicies(tx, { version, policies, actor, reason }) {
      const values = [version, storableJson(policies), actor, reason]
      return readFirst(readSet, await driver.execute(tx, sql.set_policies, values))?.isSet === true
    },
  }
}

const readKnown = rowDecoder('policies', {
  version: Column.integer,
  tag: Column.text,
  policies: Column.json<readonly Policy[]>(),
})

const readText = rowDecoder('facts', { facts: Column.nullable(Column.text) })

const readIsThere = rowDecoder('indexes', { isThere: Column.boolean })

const readSet = rowDecoder('set policies', { isSet: Column.boolean })

const readVersion = rowDecoder('policies', {
  version: Column.integer,
  policies: Column.json<readonly Policy[]>(),
  setAt: Column.nullable(Column.text),
  actor: Column.nullable(Column.text),
  reason: Column.nullable(Column.text),
})
