import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Catalog, createEngine, defaultGateway, type Engine, type Gateway } from '@outlay/core'
import type pg from 'pg'
import { Misuse, Refusal } from './problem.ts'
import type { Session } from './session.ts'

/** Runs `work` with an engine that has the host's own gateway and catalog, then closes the gateway. */
export async function withGateway<T>(
  session: Session,
  gatewayModule: string,
  work: (engine: Engine<pg.PoolClient>) => Promise<T>,
): Promise<T> {
  const { gateways, catalog } = await loadModule(gatewayModule)
  // Nothing is routed here: what is enqueued again keeps its gateway, or somebody names another one.
  const route = () => Object.keys(gateways)[0] ?? defaultGateway
  try {
    return await work(createEngine({ backend: session.backend, gateways, route, catalog }))
  } finally {
    for (const gateway of Object.values(gateways)) await gateway.close?.()
  }
}

interface HostModule {
  /** By name: the only one is `default`. */
  readonly gateways: Readonly<Record<string, Gateway>>
  /** Undefined where the module exports none: the host has the catalog that ships. */
  readonly catalog: Catalog | undefined
}

/**
 * Loads the gateway that a host's module exports as `default` or `gateway`, which is a gateway or a function that creates one, or the
 * `gateways` by name, and the `catalog` that it may export.
 */
async function loadModule(path: string): Promise<HostModule> {
  const next =
    'Export a gateway, or a function that makes one, as "default" or "gateway"; several by name as "gateways".'
  let loaded: Readonly<Record<string, unknown>>
  if (!existsSync(resolve(path))) throw new Misuse(`The module ${path} cannot be loaded: there is no such file.`, next)
  try {
    loaded = await import(pathToFileURL(resolve(path)).href)
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new Refusal(`The module ${path} cannot be loaded: ${why}`, next)
  }
  const several = loaded['gateways']
  const given = loaded['default'] ?? loaded['gateway']
  const gateways: unknown =
    several === undefined
      ? { [defaultGateway]: typeof given === 'function' ? await given() : given }
      : typeof several === 'function'
        ? await several()
        : several
  const catalog: unknown = loaded['catalog']
  if (catalog !== undefined && !isCatalog(catalog))
    throw new Refusal(`The "catalog" of the module ${path} is no catalog.`, 'Export what createCatalog() gives.')
  if (isGateways(gateways)) return { gateways, catalog }
  throw new Refusal(`The module ${path} exports no gateway.`, next)
}

const isGateways = (value: unknown): value is Readonly<Record<string, Gateway>> =>
  typeof value === 'object' &&
  value !== null &&
  Object.keys(value).length > 0 &&
  Object.values(value).every((one) => typeof one?.submit === 'function' && typeof one?.get === 'function')

const isCatalog = (value: unknown): value is Catalog =>
  typeof (value as Partial<Catalog> | null)?.transferType === 'function'
