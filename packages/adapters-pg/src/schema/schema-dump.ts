import type { Row } from '../database/statement.ts'

/** Runs one statement; a driver and a client of any library can. */
export type RunStatement = (text: string, values: readonly unknown[]) => Promise<{ readonly rows: readonly Row[] }>

/** A part of a schema: its name in the dump, and the lines that describe it, each in two pieces. `$1` is the schema. */
const parts = {
  tables: `select format('%s.%s', c.relname, a.attname) as name, format(' %s%s%s%s', format_type(a.atttypid, a.atttypmod),
      case when a.attnotnull then ' not null' else '' end,
      case when a.attidentity <> '' then ' identity' else '' end,
      coalesce(' default ' || pg_get_expr(d.adbin, d.adrelid), '')) as definition
    from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
    where c.relnamespace = $1::regnamespace and c.relkind in ('r', 'p') order by c.relname, a.attname`,
  options: `select c.relname as name, ' ' || c.reloptions::text as definition from pg_class c
    where c.relnamespace = $1::regnamespace and c.relkind in ('r', 'p') and c.reloptions is not null order by c.relname`,
  domains: `select t.typname as name, format(' %s%s', format_type(t.typbasetype, t.typtypmod),
      coalesce((select string_agg(' ' || pg_get_constraintdef(k.oid), '' order by k.conname) from pg_constraint k
        where k.contypid = t.oid and k.contype = 'c'), '')) as definition
    from pg_type t where t.typnamespace = $1::regnamespace and t.typtype = 'd' order by t.typname`,
  constraints: `select format('%s %s', c.relname, k.conname) as name, ' ' || pg_get_constraintdef(k.oid) as definition
    from pg_constraint k join pg_class c on c.oid = k.conrelid
    where k.connamespace = $1::regnamespace and k.contype <> 'n' order by c.relname, k.conname`,
  indexes: `select '' as name, pg_get_indexdef(i.indexrelid) || case when i.indisvalid then '' else ' INVALID' end as definition
    from pg_index i join pg_class c on c.oid = i.indexrelid join pg_class t on t.oid = i.indrelid
    where c.relnamespace = $1::regnamespace order by t.relname, c.relname`,
  triggers: `select '' as name, pg_get_triggerdef(t.oid) || case when t.tgenabled = 'D' then ' DISABLED' else '' end as definition
    from pg_trigger t join pg_class c on c.oid = t.tgrelid
    where c.relnamespace = $1::regnamespace and not t.tgisinternal order by c.relname, t.tgname`,
  policies: `select format('%s %s', tablename, policyname) as name,
      format(' for %s using %s', cmd, regexp_replace(qual, '\\s+', ' ', 'g')) as definition
    from pg_policies where schemaname = $1 order by tablename, policyname`,
  views: `select format('%s.%s', c.relname, a.attname) as name, ' ' || format_type(a.atttypid, a.atttypmod) as definition
    from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
    where c.relnamespace = $1::regnamespace and c.relkind = 'v' order by c.relname, a.attnum`,
  functions: `select '' as name, format('%s(%s) returns %s', p.proname, pg_get_function_identity_arguments(p.oid),
      pg_get_function_result(p.oid)) as definition
    from pg_proc p where p.pronamespace = $1::regnamespace order by p.proname, p.oid::regprocedure::text collate "C"`,
  'settings of functions': `select p.proname as name, format('%s%s%s',
      case p.provolatile when 'i' then ' immutable' when 's' then ' stable' else '' end,
      case when p.prosecdef then ' security definer' else '' end, ' set ' || replace(array_to_string(p.proconfig, ', '), '"', '')) as definition
    from pg_proc p where p.pronamespace = $1::regnamespace and (p.provolatile <> 'v' or p.prosecdef or p.proconfig is not null)
    order by p.proname, p.oid::regprocedure::text collate "C"`,
} as const

/**
 * Describes the tables, constraints, indexes, triggers, policies, views and functions of a schema as text that is the same on every
 * server and for every name of the schema, so that a change shows as a difference.
 */
export async function dumpSchema(run: RunStatement, schema: string): Promise<string> {
  const own = new RegExp(`(?<![\\w".])"?${schema}"?\\.`, 'g')
  const chapters: string[] = []
  for (const [part, text] of Object.entries(parts)) {
    const { rows } = await run(text, [schema])
    const lines = rows.map(({ name, definition }) => `${name}${String(definition).replaceAll(own, '')}`)
    chapters.push([`-- ${part}`, ...lines].join('\n'))
  }
  return `${chapters.join('\n\n')}\n`
}
