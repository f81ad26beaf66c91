import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { CitusNodeOptions } from '@outlay/adapters-pg'
import type { CliContext } from '../session/cli-context.ts'
import { Misuse, Refusal } from '../session/problem.ts'

/** What a file of shards says. */
export interface ShardFile {
  /** Connection strings by the names of the nodes. */
  readonly nodes: ReadonlyMap<string, string>
  /** Tables of the host that commit with payouts; for the doctor, on Citus. */
  readonly colocated: readonly string[]
  /** What nodes are in a Citus cluster, by their names. */
  readonly citus: ReadonlyMap<string, CitusNodeOptions>
  /** Connection string of the database of the directory, and its schema; undefined where the file has none. */
  readonly directory: { readonly url: string; readonly schema: string | undefined } | undefined
  /** Names the node of an account; undefined where the file has no function for it. */
  readonly route: ((accountId: string) => unknown) | undefined
}

const next =
  'Write { "nodes": { "east": "postgres://…", "west": "$WEST_URL" } } as JSON, or a module that exports the same, and "route" besides where it has one; "$NAME" reads the environment.'

/**
 * Reads the databases that are one system, from JSON or from what a module exports.
 * @throws Misuse, Refusal with what is wrong, and never with a connection string
 */
export async function readShardFile(path: string, around: Pick<CliContext, 'env'>): Promise<ShardFile> {
  const given = await load(path)
  const { nodes, colocated = [], citus = {}, route, directory } = given
  if (typeof nodes !== 'object' || nodes === null || Object.keys(nodes).length === 0)
    throw new Refusal(`The file ${path} has no "nodes".`, next)
  const read = Object.entries(nodes).map(([name, url]) => [name, readUrl(name, url, around)] as const)
  if (!Array.isArray(colocated) || colocated.some((one) => typeof one !== 'string'))
    throw new Refusal(`The "colocated" of ${path} is no list of tables.`, 'Write it as ["app.invoice", "app.order"].')
  if (route !== undefined && typeof route !== 'function')
    throw new Refusal(`The "route" of ${path} is no function.`, 'Export the function that shards() has.')
  return {
    ...{ nodes: new Map(read), colocated, route: route as ShardFile['route'] },
    citus: readCitus(citus, new Map(read)),
    directory: directory === undefined ? undefined : readDirectory(directory, around),
  }
}

async function load(path: string): Promise<Readonly<Record<string, unknown>>> {
  try {
    const loaded: unknown = path.endsWith('.json')
      ? JSON.parse(await readFile(resolve(path), 'utf8'))
      : await import(pathToFileURL(resolve(path)).href)
    if (typeof loaded === 'object' && loaded !== null) return loaded as Readonly<Record<string, unknown>>
  } catch (error) {
    const { code } = error as { readonly code?: unknown }
    if (code === 'ENOENT' || code === 'ERR_MODULE_NOT_FOUND')
      throw new Misuse(`The file ${path} cannot be read: there is no such file.`, next)
    // The text of an error may quote what the file has, and with it a password.
    throw new Refusal(`The file ${path} cannot be read: ${error instanceof Error ? error.name : 'it fails'}.`, next)
  }
  throw new Refusal(`The file ${path} has no object.`, next)
}

/** `{ "east": { "at": "worker-1:5432", "pin": "app.outlay_pin" } }`. */
function readCitus(given: unknown, nodes: ReadonlyMap<string, string>): ShardFile['citus'] {
  const how = 'Write it as { "east": { "at": "worker-1:5432" } }, with the host and port that pg_dist_node has.'
  if (typeof given !== 'object' || given === null) throw new Refusal('The "citus" of the file is no object.', how)
  const read = Object.entries(given).map(([name, value]) => {
    if (!nodes.has(name)) throw new Refusal(`The "citus" of the file names "${name}", which is no node of it.`, how)
    const { at, pin, ...others } = typeof value === 'object' && value !== null ? (value as CitusNodeOptions) : {}
    const isRead = [at, pin].every((one) => one === undefined || typeof one === 'string')
    if (!isRead || Object.keys(others).length > 0 || (at ?? pin) === undefined)
      throw new Refusal(`The "citus" of the node "${name}" has no "at" or "pin" that can be read.`, how)
    return [name, { at, pin }] as const
  })
  return new Map(read)
}

/** A connection string, or `{ url, schema }`. */
function readDirectory(given: unknown, around: Pick<CliContext, 'env'>): ShardFile['directory'] {
  const { url, schema } =
    typeof given === 'object' && given !== null ? (given as Record<string, unknown>) : { url: given }
  if (schema !== undefined && typeof schema !== 'string')
    throw new Refusal('The "schema" of the "directory" is no name.', 'Write it as that of directory().')
  return { url: readConnection('The "directory"', url, around), schema }
}

function readUrl(name: string, given: unknown, around: Pick<CliContext, 'env'>): string {
  if (!/^[a-z0-9][a-z0-9_.-]{0,62}$/.test(name)) throw new Refusal(`"${name}" is no name of a node.`, next)
  return readConnection(`The node "${name}"`, given, around)
}

function readConnection(owner: string, given: unknown, { env }: Pick<CliContext, 'env'>): string {
  const variable = typeof given === 'string' && given.startsWith('$') ? given.slice(1) : undefined
  const url = variable === undefined ? given : env[variable]
  if (typeof url === 'string' && URL.canParse(url) && /^postgres(ql)?:$/.test(new URL(url).protocol)) return url
  const what =
    variable === undefined ? owner : `The variable ${variable} of ${owner[0]?.toLowerCase()}${owner.slice(1)}`
  throw new Refusal(`${what} has no connection string that can be read.`, next)
}
