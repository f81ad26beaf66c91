import type { OnApplicationBootstrap, OnModuleDestroy } from '@nestjs/common'
import type { Engine, Logger, WorkOptions } from '@outlay/core'
import { type Discovery, findHandlers, subscribeHandlers } from './handlers.ts'

/** What Nest calls on the life of an engine. */
export type EngineLife = OnApplicationBootstrap & OnModuleDestroy

/** What the life of an engine needs. */
export interface EngineLifeOptions<Tx> extends Discovery {
  readonly engine: Engine<Tx>
  readonly name: string
  readonly work: WorkOptions | boolean
  readonly logger: Logger
}

const prefix = 'outlay life '

/** Where the life of an engine is provided. */
export const lifeToken = (engine: string): string => `${prefix}${engine}`

/** What `engine.stop()` needs at most beyond `stopTimeoutMs`, and some more. */
const stopReserveMs = 20_000

/** Starts the workers of an engine when the application bootstraps, with its decorated handlers, and stops them when it ends. */
export function createEngineLife<Tx>({ engine, name, work, ...options }: EngineLifeOptions<Tx>): EngineLife {
  let hasEnded = false
  return {
    async onApplicationBootstrap() {
      // Nest bootstraps also what was closed while it was initialized.
      if (hasEnded) return
      subscribeHandlers(engine, name, findHandlers(options), listEngines(options, name))
      if (work !== false) await engine.start(work === true ? {} : work)
    },
    // Nest calls this before it closes servers and, in `onApplicationShutdown`, databases.
    async onModuleDestroy() {
      hasEnded = true
      await stopEngine(engine, work, options.logger)
    },
  }
}

/** The engines of the application. Throws Error when another one has the same name. */
function listEngines({ discovery }: Discovery, name: string): readonly string[] {
  const tokens = discovery.getProviders().map(({ token }) => token)
  const names = tokens.flatMap((token) =>
    typeof token === 'string' && token.startsWith(prefix) ? [token.slice(prefix.length)] : [],
  )
  if (names.filter((other) => other === name).length > 1)
    throw new Error(`Two OutlayModules have the engine "${name}"; give forRoot() another \`name\`.`)
  return names
}

/** Stops an engine. Whatever happens, the application can end. */
async function stopEngine<Tx>(engine: Engine<Tx>, work: WorkOptions | boolean, logger: Logger): Promise<void> {
  const { stopTimeoutMs = 10_000 } = typeof work === 'object' ? work : {}
  const limitMs = stopTimeoutMs + stopReserveMs
  const { promise: late, resolve } = Promise.withResolvers<string>()
  const timer = setTimeout(() => resolve(`it has not ended within ${limitMs} ms`), limitMs)
  const stopped = engine.stop().then(
    () => undefined,
    (error: unknown) => (error instanceof Error ? error.message : String(error)),
  )
  const failure = await Promise.race([stopped, late])
  clearTimeout(timer)
  if (failure !== undefined) logger.error({ error: failure }, 'The engine failed to stop.')
}
