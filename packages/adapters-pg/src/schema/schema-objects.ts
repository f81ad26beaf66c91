/** What an object of a schema is. */
export type ObjectKind = 'table' | 'column' | 'domain' | 'constraint' | 'index' | 'trigger' | 'view' | 'function'

/** An object of a schema, as its line in a dump describes it. */
export interface SchemaObject {
  readonly kind: ObjectKind
  /** A function's has the types of its arguments. */
  readonly name: string
  /** The table or view that it is a part of; null for what stands alone. */
  readonly table: string | null
  readonly definition: string
}

/** How the lines of a part of a dump are read. Parts that are missing here may differ: a host tunes the storage of its tables. */
const readers: Readonly<Record<string, { readonly kind: ObjectKind; readonly line: RegExp }>> = {
  tables: { kind: 'column', line: /^(?<table>\w+)\.(?<name>\w+) (?<definition>.*)$/ },
  domains: { kind: 'domain', line: /^(?<name>\w+) (?<definition>.*)$/ },
  constraints: { kind: 'constraint', line: /^(?<table>\w+) (?<name>\w+) (?<definition>.*)$/ },
  indexes: { kind: 'index', line: /^(?<definition>CREATE (?:UNIQUE )?INDEX (?<name>\w+) ON (?<table>\w+) .*)$/ },
  triggers: { kind: 'trigger', line: /^(?<definition>CREATE TRIGGER (?<name>\w+) .* ON (?<table>\w+) .*)$/ },
  views: { kind: 'view', line: /^(?<table>\w+)\.(?<name>\w+) (?<definition>.*)$/ },
  functions: { kind: 'function', line: /^(?<name>\w+\(.*?\)) returns (?<definition>.*)$/ },
  'settings of functions': { kind: 'function', line: /^(?<name>\w+) (?<definition>.*)$/ },
}

/** Reads the objects of a dump. A view stands as its columns, and the settings of a function as an object beside it. */
export function readSchemaObjects(dump: string): readonly SchemaObject[] {
  return dump.split(/^-- /m).flatMap((chapter) => {
    const [part = '', ...lines] = chapter.split('\n')
    const reader = readers[part]
    if (reader === undefined) return []
    return lines.flatMap((line): SchemaObject[] => {
      const { name, table = null, definition = '' } = reader.line.exec(line)?.groups ?? {}
      // An object of the host's own may have a name that none of the engine's has.
      return name === undefined ? [] : [{ kind: reader.kind, name, table, definition }]
    })
  })
}
