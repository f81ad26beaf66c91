import { code, paragraphs, table } from './markdown.ts'

/** A JSON Schema, as far as this reads it. */
export type Schema = Readonly<Record<string, unknown>>

/** The page that has each named schema. */
export type SchemaPlaces = ReadonlyMap<string, string>

const refsIn = (value: unknown): readonly string[] =>
  [...JSON.stringify(value).matchAll(/"#\/components\/schemas\/(\w+)"/g)].flatMap(([, name]) => name ?? [])

/** Schemas used by more pages than this are shared instead of borrowed from the first page. */
const mostBorrowers = 3

/** Assigns each schema to the first page that uses it, directly or through others, and widely used ones to the shared page. */
export function placeSchemas(
  schemas: Readonly<Record<string, Schema>>,
  usage: Readonly<Record<string, unknown>>,
  shared: string,
): SchemaPlaces {
  const users = new Map<string, Set<string>>()
  const visit = (name: string, page: string): void => {
    const known = users.get(name) ?? new Set()
    if (known.has(page)) return
    users.set(name, known.add(page))
    for (const inner of refsIn(schemas[name])) visit(inner, page)
  }
  for (const [page, used] of Object.entries(usage)) for (const name of refsIn(used)) visit(name, page)
  return new Map(
    Object.keys(schemas).map((name) => {
      const pages = [...(users.get(name) ?? [])]
      return [name, pages.length > mostBorrowers ? shared : (pages[0] ?? shared)]
    }),
  )
}

/** Names the type of a schema, with links to the schemas that have names. */
export function writeType(schema: Schema, places: SchemaPlaces, page: string): string {
  const { $ref, anyOf, type, items, const: constant, enum: values } = schema
  if (typeof $ref === 'string') return linkTo($ref.replace(/.*\//, ''), places, page)
  if (constant !== undefined) return code(JSON.stringify(constant))
  if (Array.isArray(values)) return values.map((value) => code(String(value))).join(' or ')
  if (Array.isArray(anyOf)) return (anyOf as Schema[]).map((one) => writeType(one, places, page)).join(' or ')
  if (type === 'array') return `list of ${writeType((items ?? {}) as Schema, places, page)}`
  if (Array.isArray(type)) return type.join(' or ')
  return typeof type === 'string' ? type : 'anything'
}

function linkTo(name: string, places: SchemaPlaces, page: string): string {
  const place = places.get(name)
  return `[${name}](${place === page ? '' : `${place}.md`}#${name.toLowerCase()})`
}

/** Writes a named schema: its description, and each of its members with its rules. */
export function writeSchemaMembers(name: string, schema: Schema, places: SchemaPlaces, page: string): string {
  const rows = membersOf(schema).map(({ path, isRequired, schema: member }) => [
    code(path),
    writeType(member, places, page),
    isRequired ? 'yes' : 'no',
    [...rulesOf(member), ...(typeof member['description'] === 'string' ? [member['description']] : [])].join('. '),
  ])
  const alone =
    rows.length === 0 ? [writeType({ ...schema, description: undefined }, places, page), ...rulesOf(schema)] : []
  return paragraphs(
    `### ${name}`,
    String(schema['description'] ?? ''),
    ...(alone.length === 0 ? [] : [`Type: ${alone.join(', ')}.`]),
    table(['member', 'type', 'required', 'rules'], rows),
    rows.length === 0 ? '' : writeExample(schema),
  )
}

function writeExample({ examples }: Schema): string {
  const [first] = (examples ?? []) as readonly unknown[]
  return first === undefined ? '' : ['```json', JSON.stringify(first, null, 2), '```'].join('\n')
}

interface MemberAt {
  readonly path: string
  readonly isRequired: boolean
  readonly schema: Schema
}

/** Members including those of nameless objects and lists inside, each by its path. */
function membersOf(schema: Schema, prefix = ''): readonly MemberAt[] {
  const required = (schema['required'] ?? []) as readonly string[]
  return Object.entries((schema['properties'] ?? {}) as Record<string, Schema>).flatMap(([name, member]) => {
    const path = `${prefix}${name}`
    return [{ path, isRequired: required.includes(name), schema: member }, ...insideOf(member, path)]
  })
}

function insideOf(member: Schema, path: string): readonly MemberAt[] {
  if (member['type'] === 'array') return membersOf((member['items'] ?? {}) as Schema, `${path}[].`)
  const alternatives = (member['anyOf'] ?? [member]) as readonly Schema[]
  return alternatives.flatMap((one) => membersOf(one, `${path}.`))
}

function rulesOf(schema: Schema): readonly string[] {
  const rule = (name: string, say: (value: unknown) => string) =>
    schema[name] === undefined ? [] : [say(schema[name])]
  const isText = JSON.stringify(schema['type'] ?? '').includes('string')
  // The pattern of a format says less than its name.
  const pattern = schema['format'] === undefined ? rule('pattern', (value) => `matches ${code(String(value))}`) : []
  return [
    ...rule('format', (value) => `format ${value}`),
    ...pattern,
    ...(isText ? rule('minLength', (value) => `at least ${value} characters`) : []),
    ...(isText ? rule('maxLength', (value) => `at most ${value} characters`) : []),
    ...rule('minimum', (value) => `at least ${value}`),
    ...rule('maximum', (value) => (value === Number.MAX_SAFE_INTEGER ? '' : `at most ${value}`)).filter(
      (one) => one !== '',
    ),
    ...rule('minItems', (value) => `at least ${value} of them`),
    ...rule('maxItems', (value) => `at most ${value} of them`),
    ...rule('default', (value) => `default ${code(JSON.stringify(value))}`),
  ]
}
