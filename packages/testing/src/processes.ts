import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** Options of a child program. Every member has a default. */
export interface SpawnOptions {
  readonly args?: readonly string[] | undefined
  /** Added to the environment of this process; `undefined` removes a variable. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined
  readonly cwd?: string | undefined
  /** Flags for Node itself. */
  readonly nodeArgs?: readonly string[] | undefined
  /** Time limit for the program to become ready, in milliseconds. Default 60 000. */
  readonly readyTimeoutMs?: number | undefined
}

/** How a program ended: by its own exit code or by a signal. */
export interface ProgramEnd {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/** A Node program in its own process. */
export interface Program {
  readonly pid: number
  /** The members of its ready message. */
  readonly ready: Readonly<Record<string, unknown>>
  /** Lines of its standard output so far. */
  readonly lines: readonly string[]
  /** Messages that it sent with `process.send` so far. */
  readonly messages: readonly unknown[]
  /** Its standard error so far. */
  stderr(): string
  /** Sends it a message, which it gets as `process.on('message')`. */
  send(message: Readonly<Record<string, unknown>>): void
  /** Resolves with the first line, past or future, that matches. Throws when the program ends first or after the time limit. */
  waitForLine(matches: RegExp | ((line: string) => boolean), timeoutMs?: number): Promise<string>
  /** Sends a signal and resolves when the program has ended. Default SIGKILL. */
  kill(signal?: NodeJS.Signals): Promise<ProgramEnd>
  /** Sends SIGTERM, and kills it if it has not ended within `timeoutMs`. Default 10 000. */
  stop(timeoutMs?: number): Promise<ProgramEnd>
  /** Resolves when it has ended. */
  readonly ended: Promise<ProgramEnd>
  [Symbol.asyncDispose](): Promise<void>
}

/** Stops a process and its children where they are, as a disk or a virtual machine that hangs does, and gives what lets them go on. */
export async function freezeProcesses(pid: number): Promise<() => Promise<void>> {
  const signalChildren = async (signal: 'SIGSTOP' | 'SIGCONT') => {
    const { stdout } = await run('ps', ['-o', 'pid=', '--ppid', String(pid)])
    for (const child of stdout.trim().split(/\s+/)) {
      try {
        process.kill(Number(child), signal)
      } catch {
        // It has ended since.
      }
    }
  }
  // The first one begins no more processes.
  process.kill(pid, 'SIGSTOP')
  await signalChildren('SIGSTOP')
  return async () => {
    await signalChildren('SIGCONT')
    process.kill(pid, 'SIGCONT')
  }
}

/** Ends the child when the channel to its parent closes, so a killed test leaves nothing behind. */
const endWithParent = `data:text/javascript,${encodeURIComponent(
  `process.once('disconnect', () => process.exit(1)); process.channel?.unref()`,
)}`

/**
 * Starts a Node program and waits until it reports that it is ready: a line `{"ready":true,…}` on its standard output, or the same
 * as a message with `process.send`. It ends with this process at the latest.
 *
 * @throws Error with its standard error when it ends before that or exceeds the time limit.
 */
export async function spawnNode(entry: string | URL, options: SpawnOptions = {}): Promise<Program> {
  const file = entry instanceof URL ? fileURLToPath(entry) : entry
  const { args = [], nodeArgs = [], readyTimeoutMs = 60_000 } = options
  const child = spawn(process.execPath, ['--import', endWithParent, ...nodeArgs, file, ...args], {
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    env: { ...process.env, ...options.env },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  const record = recordOutput(child)
  const ended = new Promise<ProgramEnd>((resolve) => {
    child.once('error', () => resolve({ code: null, signal: null }))
    child.once('close', (code, signal) => resolve({ code, signal }))
  })
  const kill = (signal: NodeJS.Signals) => {
    if (child.exitCode === null && child.signalCode === null) child.kill(signal)
    return ended
  }
  try {
    const ready = await record.first((said) => asReady(said), readyTimeoutMs, `${file} to become ready`, ended)
    return program(child, record, ready, ended, kill)
  } catch (error) {
    await kill('SIGKILL')
    throw error
  }
}

function program(
  child: ChildProcess,
  record: OutputRecord,
  ready: Readonly<Record<string, unknown>>,
  ended: Promise<ProgramEnd>,
  kill: (signal: NodeJS.Signals) => Promise<ProgramEnd>,
): Program {
  const stop = async (timeoutMs = 10_000) => {
    const timer = setTimeout(() => kill('SIGKILL'), timeoutMs)
    try {
      return await kill('SIGTERM')
    } finally {
      clearTimeout(timer)
    }
  }
  return {
    pid: child.pid ?? 0,
    ready,
    lines: record.lines,
    messages: record.messages,
    stderr: record.stderr,
    send: (message) => {
      child.send(message)
    },
    waitForLine: (matches, timeoutMs = 60_000) => {
      const fits = matches instanceof RegExp ? (line: string) => line.search(matches) >= 0 : matches
      const pick = (said: Said) => (said.line !== undefined && fits(said.line) ? said.line : undefined)
      return record.first(pick, timeoutMs, `a line like ${matches}`, ended)
    },
    kill: (signal = 'SIGKILL') => kill(signal),
    stop,
    ended,
    [Symbol.asyncDispose]: async () => {
      await stop()
    },
  }
}

/** A line of output or a message. */
interface Said {
  readonly line?: string
  readonly message?: unknown
}

interface OutputRecord {
  readonly lines: readonly string[]
  readonly messages: readonly unknown[]
  stderr(): string
  /** The first line or message, past or future, for which `pick` returns a value. */
  first<T>(pick: (said: Said) => T | undefined, timeoutMs: number, what: string, end: Promise<ProgramEnd>): Promise<T>
}

function recordOutput(child: ChildProcess): OutputRecord {
  const said: Said[] = []
  const lines: string[] = []
  const messages: unknown[] = []
  const listeners = new Set<(said: Said) => void>()
  let stderr = ''
  const receive = (one: Said) => {
    said.push(one)
    for (const listener of listeners) listener(one)
  }
  if (child.stdout !== null) {
    createInterface({ input: child.stdout }).on('line', (line) => {
      lines.push(line)
      receive({ line })
    })
  }
  child.stderr?.on('data', (chunk: Buffer) => {
    stderr += chunk.toString('utf8')
  })
  child.on('message', (message) => {
    messages.push(message)
    receive({ message })
  })
  child.on('error', (error) => {
    stderr += `${error.message}\n`
  })
  return {
    lines,
    messages,
    stderr: () => stderr,
    first: (pick, timeoutMs, what, end) =>
      new Promise((resolve, reject) => {
        const settle = (act: () => void) => {
          clearTimeout(timer)
          listeners.delete(listener)
          act()
        }
        const fail = (why: string) => settle(() => reject(new Error(`${why}\n${stderr}`)))
        const timer = setTimeout(() => fail(`Waited ${timeoutMs} ms for ${what}.`), timeoutMs)
        const listener = (one: Said) => {
          const value = pick(one)
          if (value !== undefined) settle(() => resolve(value))
        }
        listeners.add(listener)
        for (const one of said) listener(one)
        void end.then(({ code, signal }) => fail(`The program ended with ${signal ?? code}; waited for ${what}.`))
      }),
  }
}

function asReady(said: Said): Readonly<Record<string, unknown>> | undefined {
  const value = said.line === undefined ? said.message : parseJson(said.line)
  if (typeof value !== 'object' || value === null) return undefined
  return 'ready' in value && value.ready === true ? (value as Readonly<Record<string, unknown>>) : undefined
}

function parseJson(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}
