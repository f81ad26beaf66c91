import { createRequire } from 'node:module'
import { resolve } from 'node:path'
import process from 'node:process'
import { pathToFileURL } from 'node:url'
import { defaultGateway } from '@outlay/core'
import { Misuse, Refusal } from '../session/problem.ts'
import type { Session } from '../session/session.ts'

/** How the console is started. */
interface ConsoleRequest {
  readonly port?: number | undefined
  readonly readOnly?: boolean | undefined
  readonly act?: boolean | undefined
  readonly actor?: string | undefined
  readonly role: readonly string[]
}

/** What this uses of `@outlay/console`, which uses this package itself and is therefore loaded when it is asked for. */
interface ConsoleModule {
  readonly serveLocally: (options: {
    readonly engine: Session['engine']
    readonly driver: Session['driver']
    readonly schema: string
    readonly queueSchema: string | undefined
    readonly actor: string
    readonly roles: readonly string[]
    readonly acts: boolean
    readonly port: number | undefined
  }) => Promise<{ readonly url: string; readonly loginUrl: string; close(): Promise<void> }>
}

/** Serves the console until it is stopped. */
export async function runConsole(session: Session, request: ConsoleRequest): Promise<void> {
  const { port, readOnly, act: acts = false, actor, role: roles } = request
  if (acts && readOnly === true) throw new Misuse('It either only shows or acts.', 'Give one of --read-only and --act.')
  if (acts && actor === undefined)
    throw new Misuse('Who acts?', 'Give --actor with --act: the name stands in the audit.')
  if (!acts && roles.length > 0) throw new Misuse('A role is of somebody who acts.', 'Give --act, or leave out --role.')
  const { serveLocally } = await loadConsole()
  const { driver, schema, queueSchema } = session
  const names = await session.inspection.gateways()
  const engine = session.engineOf(names.length === 0 ? [defaultGateway] : names)
  const by = actor ?? 'outlay console'
  const local = await serveLocally({ engine, driver, schema, queueSchema, actor: by, roles, acts, port }).catch(
    explainPort,
  )
  try {
    session.write({ url: local.url, loginUrl: local.loginUrl, acts }, () =>
      [
        `The console of the database "${session.database}" at ${session.server} ${acts ? `acts as ${by}` : 'only shows'}.`,
        `Open within ten minutes, in one browser: ${local.loginUrl}`,
        'It ends with Ctrl-C.',
      ].join('\n'),
    )
    if (!session.signal.aborted)
      await new Promise((end) => session.signal.addEventListener('abort', end, { once: true }))
  } finally {
    await local.close()
  }
}

/** From where the command line is installed, or from where it is called. */
async function loadConsole(): Promise<ConsoleModule> {
  const name = '@outlay/console'
  try {
    return (await import(name)) as ConsoleModule
  } catch (error) {
    if (!isMissing(error)) throw error
  }
  try {
    const path = createRequire(resolve(process.cwd(), 'package.json')).resolve(name)
    return (await import(pathToFileURL(path).href)) as ConsoleModule
  } catch (error) {
    if (!isMissing(error)) throw error
    throw new Refusal(`The package ${name} is not installed here.`, `Run "npm install ${name}", and the command there.`)
  }
}

const codeOf = (error: unknown): unknown => (error as { readonly code?: unknown } | null)?.code

const isMissing = (error: unknown): boolean =>
  codeOf(error) === 'ERR_MODULE_NOT_FOUND' || codeOf(error) === 'MODULE_NOT_FOUND'

function explainPort(error: unknown): never {
  const code = codeOf(error)
  if (code !== 'EADDRINUSE' && code !== 'EACCES') throw error
  const why = code === 'EACCES' ? 'may not be used by this login' : 'is in use'
  throw new Refusal(`The port ${why}.`, 'Give another one with --port, or leave it out.')
}
