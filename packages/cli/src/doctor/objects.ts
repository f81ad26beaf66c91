import type { ObjectKind, SchemaDifference } from '@outlay/adapters-pg'
import { listSome } from '../output/list-some.ts'
import { plural } from '../output/table.ts'
import { type Finding, serious } from './finding.ts'

const codes = { missing: 'object_missing', changed: 'object_changed', invalid: 'object_invalid' } as const

const says = {
  missing: ['is not there', 'are not there'],
  changed: ['is not as this release makes it', 'are not as this release makes them'],
  invalid: ['is invalid, so Postgres does not use it', 'are invalid, so Postgres does not use them'],
} as const

/** Finds objects of the schema that are not as this release makes them: the table of migrations knows nothing of what was done later. */
export function diagnoseObjects(schema: string, differences: readonly SchemaDifference[]): readonly Finding[] {
  const groups = Map.groupBy(differences, ({ problem, kind, unique }) => `${problem} ${kind} ${unique}`)
  return [...groups.values()].flatMap((group) => describeGroup(schema, group))
}

function describeGroup(schema: string, group: readonly SchemaDifference[]): readonly Finding[] {
  const [first] = group
  if (first === undefined) return []
  const { kind, problem } = first
  const names = group.map(({ name, table }) => (table === null ? name : `${name} of ${table}`))
  const count = plural(group.length, kind).replace('indexs', 'indexes')
  const what = `${count} of the schema "${schema}" ${says[problem][group.length === 1 ? 0 : 1]}: ${listSome(names)}.`
  return [serious(codes[problem], what, cureOf(schema, first, group))]
}

function cureOf(
  schema: string,
  { kind, unique, problem }: SchemaDifference,
  group: readonly SchemaDifference[],
): string {
  const files = group.flatMap(({ file }) => (file === null ? [] : [`'${file}'`]))
  if (files.length > 0) {
    const drop = kind === 'view' ? ' If it is there, drop it first.' : ''
    const other =
      kind === 'function' && problem === 'changed'
        ? ' If the schema was migrated with another --queue-schema, give that.'
        : ''
    const names = [...new Set(files)].join(', ')
    return `Find out who did it. "delete from "${schema}".migration where name in (${names})" as the owner of the schema, and then "outlay migrate", makes it anew.${drop}${other}`
  }
  const remedies = group.flatMap(({ remedy }) => (remedy === null ? [] : [remedy])).join('; ')
  if (unique) {
    return `Run "outlay stop --all": until it is back, nothing keeps out what must not be there twice, such as two payouts under one key. Remove what is there twice, then run as the owner of the schema: ${remedies}`
  }
  if (remedies !== '')
    return `Find out who did it, and run as the owner of the schema, unless somebody does: ${remedies}`
  return `Run "outlay stop --all", and find out who did it. ${wayBack[kind] ?? 'Undo it.'}`
}

const wayBack: Partial<Readonly<Record<ObjectKind, string>>> = {
  table:
    'If it has another name or schema now, move it back. If it was dropped, restore a backup: see the guide "After a restore".',
  column:
    'If it has another name now, rename it. If it was dropped, restore a backup: see the guide "After a restore".',
}
