/**
 * The footprint of Outlay: the time to import it, the size of each package's installation, and the memory of an idle
 * worker and of one at a backlog. Run it after a build; the argument is the length of
 * that backlog.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { packPackages, root } from '../../scripts/packages.ts'
import { type OutlayStage, openOutlayStage } from './contenders/outlay-stage.ts'
import { startWorkerProcess } from './contenders/worker-process.ts'
import { rotate } from './contest.ts'
import { countFolder } from './folder-size.ts'
import { describeMachine } from './machine.ts'
import { table } from './report.ts'
import { sampleTransfer } from './sample-transfer.ts'
import { openServer } from './server.ts'
import { summarize } from './spread.ts'

const startRounds = 15

/** Idle time of a worker before its memory is read, in milliseconds. */
const idleMs = 15_000

/** Transfers in the backlog of the busy worker, and those enqueued at once. */
const backlog = Number(process.argv[2] ?? 1_000_000)
const filling = 10_000

/** Programs to start, by name: arguments of Node. */
const starts: Readonly<Record<string, readonly string[]>> = {
  'node, nothing else': ['-e', ''],
  'import pg': importing('pg'),
  'import pg-boss': importing('pg-boss'),
  'import @outlay/core': importing('@outlay/core'),
  'import @outlay/http-client': importing('@outlay/http-client'),
  'import the engine: core, adapters-pg, http-client': importing(
    '@outlay/core',
    '@outlay/adapters-pg',
    '@outlay/http-client',
  ),
  'outlay --version': [join(root, 'packages/cli/dist/main.js'), '--version'],
}

/** Packages that hosts install, and their dependencies in this repository. */
const installed: Readonly<Record<string, readonly string[]>> = {
  '@outlay/core': [],
  '@outlay/adapters-pg': ['@outlay/core'],
  '@outlay/http-client': ['@outlay/core'],
  '@outlay/opentelemetry': ['@outlay/core'],
  '@outlay/nestjs': ['@outlay/core'],
  '@outlay/cli': ['@outlay/core', '@outlay/adapters-pg'],
  '@outlay/service': ['@outlay/core', '@outlay/adapters-pg'],
  '@outlay/console': ['@outlay/core', '@outlay/adapters-pg', '@outlay/cli'],
}

function importing(...names: readonly string[]): readonly string[] {
  return ['--input-type=module', '-e', names.map((name) => `import '${name}'`).join(';')]
}

function measureStarts(): readonly (readonly string[])[] {
  const times = new Map(Object.keys(starts).map((name) => [name, [] as number[]]))
  // The first of each reads from the disk, and is discarded.
  for (let round = 0; round <= startRounds; round += 1) {
    for (const [name, args] of rotate(Object.entries(starts), round)) {
      const from = performance.now()
      const { status, stderr } = spawnSync(process.execPath, args, { cwd: join(root, 'bench'), encoding: 'utf8' })
      if (status !== 0) throw new Error(`${name} ended with ${status}: ${stderr}`)
      if (round > 0) times.get(name)?.push(performance.now() - from)
    }
  }
  return [...times].map(([name, ms]) => {
    const { median, min, max } = summarize(ms)
    return [name, ...[median, min, max].map((value) => value.toFixed(0))]
  })
}

function measureInstallations(): readonly (readonly string[])[] {
  const folder = mkdtempSync(join(tmpdir(), 'outlay-footprint-'))
  try {
    const tarballs = packPackages(join(folder, 'tarballs'))
    return Object.entries(installed).map(([name, others]) => {
      const project = join(folder, name.replaceAll('/', '-'))
      mkdirSync(project)
      const dependencies = Object.fromEntries([name, ...others].map((one) => [one, `file:${tarballs.get(one)}`]))
      writeFileSync(join(project, 'package.json'), JSON.stringify({ private: true, dependencies }))
      const args = ['install', '--omit=peer', '--omit=dev', '--ignore-scripts', '--no-audit', '--no-fund']
      const { status, stderr } = spawnSync('npm', args, { cwd: project, encoding: 'utf8' })
      if (status !== 0) throw new Error(`npm install of ${name} ended with ${status}: ${stderr}`)
      const modules = join(project, 'node_modules')
      const own = countFolder(join(modules, name))
      const all = countFolder(modules)
      return [name, kilobytes(own.bytes), kilobytes(all.bytes), String(all.packages)]
    })
  } finally {
    rmSync(folder, { recursive: true })
  }
}

async function measureMemory(): Promise<readonly (readonly string[])[]> {
  const bare = spawnSync(process.execPath, ['-p', 'process.memoryUsage.rss()'], { encoding: 'utf8' })
  const server = await openServer(process.env['OUTLAY_BENCH_DATABASE_URL'])
  try {
    const stage = await openOutlayStage(server.url, 'bench_footprint', 2)
    const worker = await startWorkerProcess({ databaseUrl: stage.database.url, concurrency: 100, latencyMs: 0 })
    await sleep(idleMs)
    const bytes = await worker.residentBytes()
    const before = await worker.usage()
    await sleep(idleMs)
    const after = await worker.usage()
    await worker.stop()
    const working = await measureAtBacklog(stage)
    await stage.close()
    const seconds = idleMs / 1000
    return [
      ['node, nothing else, RSS', `${kilobytes(Number(bare.stdout))} kB`],
      ['idle worker, RSS', `${kilobytes(bytes)} kB`],
      ['idle worker, processor time', `${((after.cpuUs - before.cpuUs) / 1000 / seconds).toFixed(1)} ms a second`],
      ['idle worker, statements', `${((after.statements - before.statements) / seconds).toFixed(1)} a second`],
      ...working,
    ]
  } finally {
    await server.close()
  }
}

async function measureAtBacklog(stage: OutlayStage): Promise<readonly (readonly string[])[]> {
  for (let from = 0; from < backlog; from += filling) {
    await stage.fill(Array.from({ length: Math.min(filling, backlog - from) }, (_, n) => sampleTransfer(from + n)))
  }
  await stage.database.admin.query('vacuum analyze')
  const worker = await startWorkerProcess({ databaseUrl: stage.database.url, concurrency: 100, latencyMs: 50 })
  const readings: (readonly string[])[] = []
  for (const turn of [1, 2, 3, 4, 5, 6, 7, 8]) {
    await sleep(idleMs)
    const seconds = (turn * idleMs) / 1000
    const name = `worker at a backlog of ${backlog.toLocaleString('en')}, RSS after ${seconds} s`
    readings.push([name, `${kilobytes(await worker.residentBytes())} kB`])
  }
  if ((await worker.stop()) === 0) throw new Error('The worker at a backlog has done nothing.')
  return readings
}

const kilobytes = (bytes: number) => Math.round(bytes / 1024).toLocaleString('en')

const say = (lines: readonly string[]) => process.stdout.write(`${lines.join('\n')}\n\n`)

say(describeMachine().map((line) => `- ${line}`))
say(table(['start', 'median ms', 'lowest', 'highest'], measureStarts()))
say(table(['installation', 'package kB', 'with dependencies kB', 'packages'], measureInstallations()))
say(table(['worker', 'figure'], await measureMemory()))
