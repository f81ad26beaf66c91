import { createWriteStream, type WriteStream } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { finished } from 'node:stream/promises'
import {
  type Exchange,
  files,
  type History,
  type HostLine,
  type Run,
  readHistory,
  type ServiceLine,
} from '@outlay/judge'

/** Writes a history, line by line. */
export interface Scribe {
  host(line: HostLine): void
  exchange(line: Exchange): void
  service(line: ServiceLine): void
  /** Ends the history. */
  finish(run: Run): Promise<History>
}

/** Writes a history to a folder, one JSON value per line. */
export async function writeToFolder(folder: string): Promise<Scribe> {
  await mkdir(folder, { recursive: true })
  const open = (name: string) => createWriteStream(join(folder, name))
  const streams = { host: open(files.host), exchanges: open(files.exchanges), service: open(files.service) }
  const write = (to: WriteStream) => (line: unknown) => void to.write(`${JSON.stringify(line)}\n`)
  return {
    host: write(streams.host),
    exchange: write(streams.exchanges),
    service: write(streams.service),
    async finish(run) {
      const all = Object.values(streams)
      for (const stream of all) stream.end()
      await Promise.all(all.map((stream) => finished(stream)))
      await writeFile(join(folder, files.run), `${JSON.stringify(run)}\n`)
      return readHistory(folder)
    },
  }
}

/** Keeps a history in memory. */
export function keepInMemory(): Scribe {
  const kept = { host: [] as HostLine[], exchanges: [] as Exchange[], service: [] as ServiceLine[] }
  return {
    host: (line) => void kept.host.push(line),
    exchange: (line) => void kept.exchanges.push(line),
    service: (line) => void kept.service.push(line),
    finish: async (run) => ({ run, ...kept }),
  }
}
