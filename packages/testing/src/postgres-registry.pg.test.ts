import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { withAdmin } from './database.ts'
import { waitUntil } from './harness.ts'
import { startPostgres } from './postgres.ts'
import { endOrphans, isAlive, markProcess, registerServer } from './postgres-registry.ts'
import { spawnNode } from './processes.ts'

let dir: string

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'outlay-orphans-'))
  // Root runs the server as another user, who has to get in.
  await chmod(dir, 0o755)
})

afterAll(() => rm(dir, { recursive: true, force: true }))

/** A program that starts a server and then does nothing. It reports the server's process, data and URL. */
async function startOwner(options: Record<string, unknown>) {
  const entry = join(dir, 'owner.mjs')
  await writeFile(
    entry,
    `import { readFileSync } from 'node:fs'
     import { startPostgres } from ${JSON.stringify(new URL('./postgres.ts', import.meta.url).href)}
     import { withAdmin } from ${JSON.stringify(new URL('./database.ts', import.meta.url).href)}
     const postgres = await startPostgres(JSON.parse(process.argv[2]))
     const data = await withAdmin(postgres.url, async (admin) =>
       (await admin.query("select current_setting('data_directory') as at")).rows[0].at)
     const pid = Number.parseInt(readFileSync(data + '/postmaster.pid', 'utf8'), 10)
     console.log(JSON.stringify({ ready: true, data, pid, url: postgres.url }))
     setInterval(() => {}, 1000)`,
  )
  const program = await spawnNode(entry, { args: [JSON.stringify({ provider: 'embedded', ...options })] })
  const { data, pid, url } = program.ready
  return { program, data: String(data), url: String(url), server: await markProcess(Number(pid)) }
}

test.each(['SIGKILL', 'SIGINT'] as const)('a server ends with the process that started it, on %s', async (signal) => {
  const { program, data, server } = await startOwner({ durable: false })
  expect(await isAlive(server)).toBe(true)
  await program.kill(signal)
  await waitUntil(async () => !(await isAlive(server)), { describe: 'the server to end' })
  await waitUntil(() => !existsSync(data), { describe: 'its data to go' })
})

test('a server with a given data directory keeps its data and uses them again', async () => {
  const dataDir = join(dir, 'kept')
  const { program, url, server } = await startOwner({ dataDir })
  await withAdmin(url, (admin) => admin.query('create table fact as select 42 as answer'))
  await program.kill('SIGKILL')
  await waitUntil(async () => !(await isAlive(server)), { describe: 'the server to end' })

  await using again = await startPostgres({ dataDir })
  expect(again.provider).toBe('embedded')
  const found = await withAdmin(again.url, (admin) => admin.query('select answer from fact'))
  expect(found.rows).toEqual([{ answer: 42 }])
  await again.stop()
  expect(existsSync(join(dataDir, 'PG_VERSION'))).toBe(true)
})

test.runIf(process.getuid?.() === 0)(
  'a data directory that the server cannot get into is refused by name',
  async () => {
    const closed = await mkdtemp(join(dir, 'closed-'))
    await expect(startPostgres({ dataDir: join(closed, 'data') })).rejects.toThrow(/closed-\w+ is closed to the user/)
  },
)

/** A process that stands for a server, with the pid file that the server would have. */
async function standIn(name: string) {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' })
  const ended = new Promise<unknown>((resolve) => child.once('exit', (_code, signal) => resolve(signal)))
  const dataDir = join(dir, name, 'data')
  await mkdir(dataDir, { recursive: true })
  await writeFile(join(dataDir, 'postmaster.pid'), `${child.pid}\n${dataDir}\n`)
  return { child, ended, dataDir, removeDir: join(dir, name), server: await markProcess(Number(child.pid)) }
}

/** Marks a process that has ended. */
async function markGone() {
  const child = spawn(process.execPath, ['-e', ''], { stdio: 'ignore' })
  const mark = await markProcess(Number(child.pid))
  await new Promise((resolve) => child.once('exit', resolve))
  return mark
}

test('only a registered server whose owner has ended is stopped, and its data are removed', async () => {
  const registry = join(dir, 'registry')
  const orphan = await standIn('orphan')
  const owned = await standIn('owned')
  const stranger = await standIn('stranger')
  await writeFile(join(stranger.dataDir, 'postmaster.pid'), '1\n')
  const gone = await markGone()
  await registerServer({ ...orphan, owner: gone }, registry)
  await registerServer({ ...owned, owner: await markProcess(process.pid) }, registry)
  await registerServer({ ...stranger, owner: gone, removeDir: null }, registry)

  try {
    expect(await endOrphans(registry)).toBe(1)
    expect(await orphan.ended).toBe('SIGQUIT')
    expect(existsSync(orphan.removeDir)).toBe(false)
    expect(await isAlive(owned.server)).toBe(true)
    expect(await isAlive(stranger.server)).toBe(true)
    expect(await readdir(registry)).toEqual([`${owned.server.pid}.json`])
  } finally {
    for (const { child } of [orphan, owned, stranger]) child.kill('SIGKILL')
  }
})

test('a process that reuses the number of an earlier one is not mistaken for it', async () => {
  const { pid, began } = await markProcess(process.pid)
  expect(await isAlive({ pid, began })).toBe(true)
  if (began !== null) expect(await isAlive({ pid, began: '1' })).toBe(false)
  expect(await isAlive(await markGone())).toBe(false)
})

test('a missing registry has no orphans', async () => {
  expect(await endOrphans(join(dir, 'nowhere'))).toBe(0)
})
