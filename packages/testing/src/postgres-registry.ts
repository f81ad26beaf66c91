import { chmod, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

/** A server that a process has started. */
export interface RegisteredServer {
  /** Process that started it, and when that process began, to distinguish it from a later one with the same number. */
  readonly owner: ProcessMark
  readonly server: ProcessMark
  readonly dataDir: string
  /** Directory to remove once the server has ended; null when the data stay. */
  readonly removeDir: string | null
}

/** A process and when it began, in the kernel's ticks since boot; null if the system does not report it. */
export interface ProcessMark {
  readonly pid: number
  readonly began: string | null
}

/** Registers a server. Returns the path of the entry. */
export async function registerServer(entry: RegisteredServer, directory = registryDirectory()): Promise<string> {
  await mkdir(directory, { recursive: true })
  await chmod(directory, 0o700)
  const path = join(directory, `${entry.server.pid}.json`)
  await writeFile(path, JSON.stringify(entry), { mode: 0o600 })
  return path
}

/** Ends every registered server whose owner is gone, and removes its data. Returns how many it ended. */
export async function endOrphans(directory = registryDirectory()): Promise<number> {
  const names = await readdir(directory).catch(() => [])
  const ended = await Promise.all(names.map((name) => endOrphan(join(directory, name))))
  return ended.filter(Boolean).length
}

/** Marks a living process; its start time is read from the kernel if available. */
export async function markProcess(pid: number): Promise<ProcessMark> {
  const text = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null)
  // The name of the program, in brackets, may contain spaces; the start time is the 20th field after it.
  const began = text?.slice(text.lastIndexOf(')') + 2).split(' ')[19] ?? null
  return { pid, began }
}

/** True while that process is alive. A zombie is not. */
export async function isAlive(mark: ProcessMark): Promise<boolean> {
  try {
    process.kill(mark.pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
  const text = await readFile(`/proc/${mark.pid}/stat`, 'utf8').catch(() => null)
  if (text?.slice(text.lastIndexOf(')') + 2).startsWith('Z')) return false
  return mark.began === null || (await markProcess(mark.pid)).began === mark.began
}

async function endOrphan(path: string): Promise<boolean> {
  const entry = await readEntry(path)
  if (entry === undefined || (await isAlive(entry.owner))) return false
  const running = await isServerOf(entry)
  if (running) {
    process.kill(entry.server.pid, entry.removeDir === null ? 'SIGINT' : 'SIGQUIT')
    for (let round = 0; round < 500 && (await isAlive(entry.server)); round++) await delay(20)
  }
  if (entry.removeDir !== null) await rm(entry.removeDir, { recursive: true, force: true })
  await rm(path, { force: true })
  return running
}

/** True when the process is alive and the data directory's own pid file names it, so no other process is ever ended. */
async function isServerOf(entry: RegisteredServer): Promise<boolean> {
  const pidFile = await readFile(join(entry.dataDir, 'postmaster.pid'), 'utf8').catch(() => '')
  return Number.parseInt(pidFile, 10) === entry.server.pid && (await isAlive(entry.server))
}

async function readEntry(path: string): Promise<RegisteredServer | undefined> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as RegisteredServer
  } catch {
    // Another process is writing or has just removed it; the next start checks it again.
    return undefined
  }
}

function registryDirectory(): string {
  return join(tmpdir(), `outlay-postgres-servers-${process.getuid?.() ?? 'user'}`)
}
