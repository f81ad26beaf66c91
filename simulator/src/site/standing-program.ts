import { type Program, waitUntil } from '@outlay/testing'

/** A program that is meant to run all the time, and that somebody starts again after it was killed. */
export interface StandingProgram extends AsyncDisposable {
  readonly name: string
  /** Of the process that runs, or ran last. */
  readonly pid: number
  /** Kills it with SIGKILL, wherever it stands; answers with its process id. */
  kill(): Promise<number>
  /** Starts it again after a kill, trying until it can, and resolves when it is ready. */
  revive(): Promise<void>
  /** Stops it in its tracks with SIGSTOP. */
  freeze(): void
  /** Lets it go on. */
  thaw(): void
  /** Lets it end what it does. */
  stop(): Promise<void>
}

/** How a program is kept. */
export interface StandingProgramOptions {
  readonly name: string
  readonly start: () => Promise<Program>
  /** Receives each message that it sends. */
  readonly onMessage?: ((message: unknown) => void) | undefined
  /** Called when it ended although nobody ended it, with its last output. */
  readonly onCollapse: (what: string) => void
}

/** How long a program may take to start again, in milliseconds: what it needs may be down itself. */
const reviveTimeoutMs = 120_000

/** Starts a program for good. */
export async function keepStanding(options: StandingProgramOptions): Promise<StandingProgram> {
  const { name, start, onMessage, onCollapse } = options
  let program = await start()
  let isMeantToEnd = false
  let hasEnded = false
  let received = 0
  const receive = () => {
    for (; received < program.messages.length; received += 1) onMessage?.(program.messages[received])
  }
  const listening = setInterval(receive, 100)
  const watch = () => {
    isMeantToEnd = false
    hasEnded = false
    received = 0
    const watched = program
    void watched.ended.then(({ code, signal }) => {
      hasEnded = true
      const last = watched.stderr().trim().split('\n').slice(-12).join('\n')
      if (!isMeantToEnd) onCollapse(`${name} ended unexpectedly with ${signal ?? code}: ${last}`)
    })
  }
  watch()
  const signal = (what: 'SIGSTOP' | 'SIGCONT') => {
    if (!hasEnded) process.kill(program.pid, what)
  }
  const stop = async () => {
    isMeantToEnd = true
    signal('SIGCONT')
    await program.stop(30_000)
    receive()
    clearInterval(listening)
  }
  return {
    name,
    get pid() {
      return program.pid
    },
    async kill() {
      isMeantToEnd = true
      await program.kill('SIGKILL')
      receive()
      return program.pid
    },
    async revive() {
      let failure: unknown
      const again = await waitUntil(
        () =>
          start().catch((error: unknown) => {
            failure = error
            return undefined
          }),
        { timeoutMs: reviveTimeoutMs, describe: () => `${name} to start again; ${failure}` },
      )
      program = again
      watch()
    },
    freeze: () => signal('SIGSTOP'),
    thaw: () => signal('SIGCONT'),
    stop,
    [Symbol.asyncDispose]: stop,
  }
}
