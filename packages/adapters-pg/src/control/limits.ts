import type { LimitSpan, LimitVersion, SumLimit, SumOf } from '@outlay/core'
import { Column, type LimitPort, rowDecoder } from '@outlay/core/adapter'
import type { Driver } from '../database/driver.ts'
import { readFirst } from '../database/read-rows.ts'
import { type Row, statements, storableJson } from '../database/statement.ts'

const versionText = `select v.version, v.limits, v.actor, v.reason, {{schema}}.iso(v.set_at) as set_at from {{schema}}.limit_version v`

const texts = {
  limits: `${versionText} order by v.version desc limit 1`,
  limits_of_version: `${versionText} where v.version = $1`,
  lock_limits: `select pg_advisory_xact_lock(hashtextextended('outlay limits {{schema}}', 0))::text`,
  set_limits: 'select {{schema}}.set_limits($1, $2::jsonb, $3::jsonb, $4, $5) as zone',
  limit_uses: `select u.name, u.currency, u.span, u.zone, u.sum_of, trim_scale(u.used)::text as used, trim_scale(u.most)::text as most,
      trim_scale(u.remaining)::text as remaining, {{schema}}.iso(u.began_at) as began_at, {{schema}}.iso(u.until) as until, u.held, u.too_large
    from {{schema}}.limit_uses u where $1::text is null or u.name = $1
    order by u.too_large > 0 desc, u.held > 0 desc, u.remaining / nullif(u.most, 0) nulls first, u.name, u.currency, u.sum_of::text limit $2`,
} as const

/** Before any were set. */
const noVersion: LimitVersion = { version: 0, limits: [], setAt: null, actor: null, reason: null }

/** Makes the store of limits on sums on a driver. */
export function createLimitStore<Tx>(driver: Driver<Tx>, tokens: Readonly<Record<string, string>>): LimitPort<Tx> {
  const sql = statements(tokens, texts)
  const read = (rows: readonly Row[]): LimitVersion | undefined => readFirst(readVersion, rows)
  return {
    async getLimits(version, tx) {
      const [statement, values] = version === undefined ? [sql.limits, []] : [sql.limits_of_version, [version]]
      const rows = await (tx === undefined ? driver.query(statement, values) : driver.execute(tx, statement, values))
      return read(rows) ?? (version === undefined || version === 0 ? noVersion : undefined)
    },
    async lockLimits(tx) {
      await driver.execute(tx, sql.lock_limits, [])
      return read(await driver.execute(tx, sql.limits, [])) ?? noVersion
    },
    async setLimits(tx, { version, limits, sums, actor, reason }) {
      const values = [version, storableJson(limits), storableJson(sums), actor, reason]
      return readFirst(readZone, await driver.execute(tx, sql.set_limits, values))?.zone ?? null
    },
    async readLimitUses({ limit, most }, tx) {
      const values = [limit ?? null, most]
      const rows = await (tx === undefined
        ? driver.query(sql.limit_uses, values)
        : driver.execute(tx, sql.limit_uses, values))
      return rows.map(readUse)
    },
  }
}

const readZone = rowDecoder('limits', { zone: Column.nullable(Column.text) })

const readVersion = rowDecoder('limits', {
  version: Column.integer,
  limits: Column.json<readonly SumLimit[]>(),
  setAt: Column.nullable(Column.text),
  actor: Column.nullable(Column.text),
  reason: Column.nullable(Column.text),
})

const readUse = rowDecoder('limit use', {
  limit: Column.from('name', Column.text),
  currency: Column.text,
  span: Column.word<LimitSpan>(),
  zone: Column.text,
  of: Column.from('sum_of', Column.json<SumOf>()),
  used: Column.text,
  most: Column.text,
  remaining: Column.text,
  from: Column.from('began_at', Column.text),
  until: Column.text,
  held: Column.integer,
  tooLarge: Column.integer,
})
