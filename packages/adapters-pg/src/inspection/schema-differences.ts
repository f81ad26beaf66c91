import { createHash } from 'node:crypto'
import { Column, rowDecoder } from '@outlay/core/adapter'
import type { Driver } from '../database/driver.ts'
import { fillTokens, type Row } from '../database/statement.ts'
import { schemaDump } from '../generated/sql.ts'
import type { DatabaseNames } from '../schema/database-names.ts'
import { engineMigrations } from '../schema/migrate.ts'
import { dumpSchema } from '../schema/schema-dump.ts'
import { type ObjectKind, readSchemaObjects, type SchemaObject } from '../schema/schema-objects.ts'

/** An object of the schema that is not as this release makes it. */
export interface SchemaDifference {
  readonly kind: ObjectKind
  /** Such as `transfer_key`; a function's without its arguments. */
  readonly name: string
  /** The table or view that it is a part of; null for what stands alone. */
  readonly table: string | null
  /** `invalid` is an index that Postgres does not use. */
  readonly problem: 'missing' | 'changed' | 'invalid'
  /** True for what keeps rows apart that must not be the same, such as two payouts under one key. */
  readonly unique: boolean
  /** One SQL statement that makes it; null where none does. */
  readonly remedy: string | null
  /** The file of SQL that makes it, as the table of migrations names it; null where a numbered migration does. */
  readonly file: string | null
}

/**
 * Compares the objects of the schema with those that this release makes, by the catalogs alone. What a host has added is no difference,
 * nor is how it stores tables and indexes. The text of a view is not compared, since each version of Postgres writes it otherwise.
 */
export async function readSchemaDifferences<Tx>(
  driver: Driver<Tx>,
  names: DatabaseNames,
): Promise<readonly SchemaDifference[]> {
  const expected = readSchemaObjects(schemaDump)
  const { dump, sources } = await readCatalogs(driver, names.schema)
  const actual = readSchemaObjects(dump)
  const found = new Map(actual.map((object) => [keyOf(object), object]))
  const tables = new Set(actual.map(({ table }) => table))
  const differences = new Map<string, SchemaDifference>()
  const add = (difference: SchemaDifference) => differences.set(keyOf(difference), difference)
  for (const object of expected) {
    const { kind, name, table } = object
    const problem = compare(object, found.get(keyOf(object)))
    if (problem === undefined) continue
    const isPart = table !== null && kind !== 'view' && tables.has(table)
    const isSetting = kind === 'function' && !name.includes('(')
    if (table !== null && !isPart) {
      const whole: SchemaObject = { kind: kind === 'view' ? 'view' : 'table', name: table, table: null, definition: '' }
      add(describe(whole, tables.has(table) ? 'changed' : 'missing', names))
    } else if (isSetting) {
      if (!differences.has(keyOf(object))) add(describe(object, 'changed', names))
    } else if (kind !== 'index' || !differences.has(keyOf({ ...object, kind: 'constraint' }))) {
      // An index of a constraint has its name, and comes with it.
      add(describe(object, problem, names))
    }
  }
  for (const [name, source] of readSources(names)) {
    const isMissing = differences.get(keyOf({ kind: 'function', name, table: null }))?.problem === 'missing'
    if (!isMissing && sources.get(name)?.has(source) !== true)
      add(describe({ kind: 'function', name, table: null, definition: '' }, 'changed', names))
  }
  return [...differences.values()]
}

const keyOf = ({ kind, name, table }: Pick<SchemaObject, 'kind' | 'name' | 'table'>) => `${kind} ${table} ${name}`

function compare(expected: SchemaObject, actual: SchemaObject | undefined): SchemaDifference['problem'] | undefined {
  if (actual === undefined) return 'missing'
  const invalid = / INVALID$/
  const clean = ({ definition }: SchemaObject) => definition.replace(invalid, '').replace(storage, '')
  const isAsExpected = [clean(actual), `${clean(actual)}${unvalidated}`].includes(clean(expected))
  if (!isAsExpected) return 'changed'
  return invalid.test(actual.definition) ? 'invalid' : undefined
}

/** Of a constraint that this release has not validated, which a host may do. */
const unvalidated = ' NOT VALID'

/** How an index is stored, which a host may tune. */
const storage = / WITH \([^)]*\)/

function describe(
  object: SchemaObject,
  problem: SchemaDifference['problem'],
  { tokens }: DatabaseNames,
): SchemaDifference {
  const { kind, table, definition } = object
  const name = kind === 'function' ? object.name.replace(/\(.*/, '') : object.name
  const schema = tokens['schema'] ?? ''
  const unique = kind === 'constraint' ? /^(UNIQUE|PRIMARY KEY)/.test(definition) : /^CREATE UNIQUE/.test(definition)
  return {
    kind,
    name,
    table,
    problem,
    unique,
    remedy: remedyOf(object, problem, schema),
    file: fileOf(kind, name, table),
  }
}

function remedyOf(
  { kind, name, table, definition }: SchemaObject,
  problem: SchemaDifference['problem'],
  schema: string,
) {
  if (kind === 'constraint') {
    const drop = problem === 'missing' ? '' : `drop constraint ${name}, `
    return `alter table ${schema}.${table} ${drop}add constraint ${name} ${definition}`
  }
  if (kind !== 'index') return null
  const drop = problem === 'missing' ? '' : `drop index ${schema}.${name}; `
  return (
    drop + definition.replace(` ON ${table} `, ` ON ${schema}.${table} `).replace(' INDEX ', ' INDEX CONCURRENTLY ')
  )
}

/** The guard of the migrations is made anew with every one that runs. */
function fileOf(kind: ObjectKind, name: string, table: string | null): string | null {
  if (kind === 'trigger' || name === 'guard_migration') return 'functions/iso'
  if (kind === 'function') return `functions/${name}`
  return kind === 'view' ? `views/${table ?? name}` : null
}

/** Reads the dump of the schema and the texts of its functions, by name. */
async function readCatalogs<Tx>(driver: Driver<Tx>, schema: string) {
  return driver.transaction(async (tx) => {
    const run = async (text: string, values: readonly unknown[]) => {
      const name = `outlay_catalog_${createHash('sha256').update(text).digest('hex').slice(0, 16)}`
      return { rows: await driver.execute(tx, { name, text }, values) }
    }
    // Both decide how Postgres writes names.
    await run(
      `select set_config('search_path', 'pg_catalog', true), set_config('quote_all_identifiers', 'off', true)`,
      [],
    )
    const dump = await dumpSchema(run, schema)
    const { rows } = await run(
      'select p.proname::text as name, p.prosrc as source from pg_proc p where p.pronamespace = $1::regnamespace',
      [schema],
    )
    const sources = new Map<string, Set<string>>()
    for (const { name, source } of rows.map(readSource))
      sources.set(name, (sources.get(name) ?? new Set()).add(trim(source)))
    return { dump, sources }
  })
}

const readSource: (row: Row) => { readonly name: string; readonly source: string } = rowDecoder('function', {
  name: Column.text,
  source: Column.text,
})

/** The texts of the functions of this release, by name. */
function readSources({ tokens }: DatabaseNames): ReadonlyMap<string, string> {
  const files = engineMigrations.filter(({ name }) => name.startsWith('functions/'))
  return new Map(
    files.map(({ name, sql }) => [name.slice('functions/'.length), trim(fillTokens(sql, tokens).split('$$')[1] ?? '')]),
  )
}

/** A tool that runs the SQL of the migrations may write its line ends otherwise. */
const trim = (source: string): string => source.replaceAll('\r\n', '\n').trim()
