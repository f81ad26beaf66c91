import type pg from 'pg'

/** A part of a schema: its name in the dump, and the lines that describe it. `$1` is the schema. */
const parts = {
  tables: `select format('%s.%s %s%s%s%s', c.relname, a.attname, format_type(a.atttypid, a.atttypmod),
      case when a.attnotnull then ' not null' else '' end,
      case when a.attidentity <> '' then ' identity' else '' end,
      coalesce(' default ' || pg_get_expr(d.adbin, d.adrelid), ''))
    from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
    where c.relnamespace = $1::regnamespace and c.relkind in ('r', 'p') order by c.relname, a.attname`,
  options: `select format('%s %s', c.relname, c.reloptions::text) from pg_class c
    where c.relnamespace = $1::regnamespace and c.relkind in ('r', 'p') and c.reloptions is not null order by c.relname`,
  constraints: `select format('%s %s %s', c.relname, k.conname, pg_get_constraintdef(k.oid))
    from pg_constraint k join pg_class c on c.oid = k.conrelid
    where k.connamespace = $1::regnamespace and k.contype <> 'n' order by c.relname, k.conname`,
  indexes: `select indexdef from pg_indexes where schemaname = $1 order by tablename, indexname`,
  triggers: `select pg_get_triggerdef(t.oid) from pg_trigger t join pg_class c on c.oid = t.tgrelid
    where c.relnamespace = $1::regnamespace and not t.tgisinternal order by c.relname, t.tgname`,
  policies: `select format('%s %s for %s using %s', tablename, policyname, cmd, regexp_replace(qual, '\\s+', ' ', 'g'))
    from pg_policies where schemaname = $1 order by tablename, policyname`,
  views: `select format('%s.%s %s', c.relname, a.attname, format_type(a.atttypid, a.atttypmod))
    from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
    where c.relnamespace = $1::regnamespace and c.relkind = 'v' order by c.relname, a.attnum`,
  functions: `select format('%s(%s) returns %s', p.proname, pg_get_function_identity_arguments(p.oid),
      pg_get_function_result(p.oid))
    from pg_proc p where p.pronamespace = $1::regnamespace order by p.proname, p.oid::regprocedure::text collate "C"`,
} as const

/** Describes a schema as text that is the same on every server, so that a change shows as a difference. */
export async function dumpSchema(client: pg.Client, schema: string): Promise<string> {
  const chapters: string[] = []
  for (const [name, text] of Object.entries(parts)) {
    const { rows } = await client.query(text, [schema])
    const lines = rows.map((row) => String(Object.values(row)[0]).replaceAll(`${schema}.`, ''))
    chapters.push([`-- ${name}`, ...lines].join('\n'))
  }
  return `${chapters.join('\n\n')}\n`
}
