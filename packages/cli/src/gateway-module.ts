import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { createEngine, type Engine, type Gateway } from '@outlay/core'
import type pg from 'pg'
import { Misuse, Refusal } from './problem.ts'
import type { Session } from './session.ts'

/** Runs `work` with an engine that reads the service through the host's own gateway, then closes the gateway. */
export async function withGateway<T>(
  session: Session,
  gatewayModule: string,
  work: (engine: Engine<pg.PoolClient>) => Promise<T>,
): Promise<T> {
  const gateway = await loadGateway(gatewayModule)
  try {
    return await work(createEngine({ backend: session.backend, gateway }))
  } finally {
    await gateway.close?.()
  }
}

/** Loads the gateway that a host's module exports as `default` or `gateway`: a gateway, or a function that creates one. */
async function loadGateway(path: string): Promise<Gateway> {
  const next = 'Export a gateway, or a function that makes one, as "default" or "gateway".'
  let loaded: Readonly<Record<string, unknown>>
  if (!existsSync(resolve(path))) throw new Misuse(`The module ${path} cannot be loaded: there is no such file.`, next)
  try {
    loaded = await import(pathToFileURL(resolve(path)).href)
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new Refusal(`The module ${path} cannot be loaded: ${why}`, next)
  }
  const given = loaded['default'] ?? loaded['gateway']
  const gateway = typeof given === 'function' ? await given() : given
  if (typeof gateway?.submit === 'function' && typeof gateway?.get === 'function') return gateway
  throw new Refusal(`The module ${path} exports no gateway.`, next)
}
