import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { access, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { waitUntil } from '@outlay/testing'

/** One series of an answer, with its value of now. */
export interface Sample {
  readonly metric: Readonly<Record<string, string>>
  readonly value: string
}

/** A running Prometheus that scrapes every half second. */
export interface PrometheusServer extends AsyncDisposable {
  /**
   * Evaluates a query now.
   * @throws Error with the words of Prometheus when it refuses the query.
   */
  query(expr: string): Promise<readonly Sample[]>
}

/** The program, by `OUTLAY_PROMETHEUS` or on PATH; undefined where there is none. */
export async function findPrometheus(): Promise<string | undefined> {
  const given = process.env['OUTLAY_PROMETHEUS']
  const folders = (process.env['PATH'] ?? '').split(delimiter)
  for (const path of given === undefined ? folders.map((folder) => join(folder, 'prometheus')) : [given]) {
    const found = await access(path).then(
      () => path,
      () => undefined,
    )
    if (found !== undefined) return found
  }
  return undefined
}

/** Starts a Prometheus on a free port of 127.0.0.1, with its data in a folder of its own. Each job has one target, as `host:port`. */
export async function startPrometheus(
  program: string,
  jobs: Readonly<Record<string, string>>,
): Promise<PrometheusServer> {
  const folder = await mkdtemp(join(tmpdir(), 'outlay-prometheus-'))
  const port = await freePort()
  const scrapes = Object.entries(jobs).map(([job, target]) => ({
    job_name: job,
    static_configs: [{ targets: [target] }],
  }))
  const config = { global: { scrape_interval: '500ms', scrape_timeout: '500ms' }, scrape_configs: scrapes }
  const file = join(folder, 'prometheus.yaml')
  await writeFile(file, JSON.stringify(config))
  const address = `127.0.0.1:${port}`
  const args = [`--config.file=${file}`, `--storage.tsdb.path=${folder}/data`, `--web.listen-address=${address}`]
  const child = spawn(program, args, { stdio: 'ignore' })
  const query: PrometheusServer['query'] = async (expr) => {
    const response = await fetch(`http://${address}/api/v1/query`, {
      method: 'POST',
      body: new URLSearchParams({ query: expr }),
    })
    const answer = (await response.json()) as {
      readonly error?: string
      readonly data?: {
        readonly result: readonly { readonly metric: Sample['metric']; readonly value: readonly [number, string] }[]
      }
    }
    if (answer.data === undefined) throw new Error(`${expr}: ${answer.error}`)
    return answer.data.result.map(({ metric, value }) => ({ metric, value: value[1] }))
  }
  const isUp = async () => {
    const up = await query('up').catch(() => [])
    return up.filter(({ value }) => value === '1').length === scrapes.length
  }
  const end = async () => {
    await endChild(child)
    await rm(folder, { recursive: true, force: true })
  }
  try {
    await waitUntil(isUp)
  } catch (error) {
    await end()
    throw error
  }
  return { query, [Symbol.asyncDispose]: end }
}

async function endChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  if (address === null || typeof address === 'string') throw new Error('There is no free port.')
  return address.port
}
