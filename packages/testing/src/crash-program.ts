import { type CrashPoint, crashPointVariable } from './crash-points.ts'
import type { FaultProxy } from './fault-proxy.ts'
import type { RequestMatch } from './faults.ts'
import { waitUntil } from './harness.ts'
import { type Program, type ProgramEnd, type SpawnOptions, spawnNode } from './processes.ts'
import { holdSettlement } from './settlement-hold.ts'

/** Options of a process that a test kills at a point. */
export interface SpawnUntilOptions extends SpawnOptions {
  /** For `request_left` and `answer_on_its_way`: the proxy through which the process reaches the service. */
  readonly proxy?: Pick<FaultProxy, 'faults'> | undefined
  /** For the same: which requests. Default creates of transfers. */
  readonly request?: RequestMatch | undefined
  /** For `settling`: the engine's database. */
  readonly databaseUrl?: string | undefined
  /** For `settling`: the engine's schema. Default `outlay`. */
  readonly schema?: string | undefined
}

/** A process that stops at a point. */
export interface DoomedProgram extends AsyncDisposable {
  readonly program: Program
  /** Resolves when the process is at the point. Throws after `timeoutMs`, by default 60 000, or when it has ended. */
  reached(timeoutMs?: number): Promise<void>
  /**
   * Kills the process with SIGKILL, then releases everything held: the request arrives late, and nothing receives the answer.
   * The database finishes an open settlement, or rolls it back if `rollsBack` is true.
   */
  kill(options?: { readonly rollsBack?: boolean | undefined }): Promise<ProgramEnd>
}

/** A hold outside the process that stops it at a point. */
interface Holder {
  isReached(): boolean | Promise<boolean>
  letGo(rollsBack: boolean): void | Promise<void>
}

/**
 * Starts a program whose engine has the crash points of `crashPoints` and which stops at `point`, so that a test can kill it
 * there. Any other name is the program's own point, which it marks with `reach`.
 *
 * @example
 * const worker = await spawnUntil(new URL('./worker-main.ts', import.meta.url), 'answered', { env })
 * await db.transaction((tx) => payInvoice(tx, invoice))
 * await worker.reached()
 * await worker.kill()
 */
export async function spawnUntil(
  entry: string | URL,
  point: CrashPoint | (string & {}),
  options: SpawnUntilOptions = {},
): Promise<DoomedProgram> {
  const outside = await holdOutside(point, options)
  const start = () => spawnNode(entry, { ...options, env: { ...options.env, [crashPointVariable]: point } })
  const program = await start().catch(async (error) => {
    await outside?.letGo(false)
    throw error
  })
  const holder = outside ?? {
    isReached: () => program.messages.some((message) => (message as { at?: unknown } | null)?.at === point),
    letGo: () => {},
  }
  let ended: ProgramEnd | undefined
  void program.ended.then((end) => {
    ended = end
  })
  let killing: Promise<ProgramEnd> | undefined
  const killOnce = async (rollsBack: boolean) => {
    const end = await program.kill('SIGKILL')
    await holder.letGo(rollsBack)
    return end
  }
  const kill: DoomedProgram['kill'] = ({ rollsBack = false } = {}) => (killing ??= killOnce(rollsBack))
  return {
    program,
    async reached(timeoutMs = 60_000) {
      await waitUntil(
        async () => {
          if (await holder.isReached()) return true
          if (ended === undefined) return false
          throw new Error(`The program ended with ${ended.signal ?? ended.code} before ${point}.\n${program.stderr()}`)
        },
        { timeoutMs, describe: () => `the program to reach ${point}\n${program.stderr()}` },
      )
    },
    kill,
    [Symbol.asyncDispose]: async () => {
      await kill()
    },
  }
}

async function holdOutside(point: string, options: SpawnUntilOptions): Promise<Holder | undefined> {
  const { proxy, databaseUrl, schema = 'outlay', request = { method: 'POST', path: /transfers$/ } } = options
  if (point === 'request_left' || point === 'answer_on_its_way') {
    if (proxy === undefined) throw new Error(`The point ${point} is on the wire: give the proxy that the process uses.`)
    const at = point === 'request_left' ? 'request' : 'response'
    const hold = proxy.faults.hold({ ...request, at, deliverLate: true })
    return { isReached: () => hold.arrived > 0, letGo: () => hold.release() }
  }
  if (point !== 'settling') return undefined
  if (databaseUrl === undefined) throw new Error('The point settling is in the database: give its databaseUrl.')
  return holdSettlement(databaseUrl, schema)
}
