import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { findClosedDirectory, linkLibraries, makeReachable } from './postgres-binaries.ts'

let dir: string
const garbage: string[] = []

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'outlay-binaries-'))
  garbage.push(dir)
})

afterEach(async () => {
  for (const path of garbage.splice(0)) await rm(path, { recursive: true, force: true })
})

/** Lays out programs as the npm package does. */
async function layOut(mode: number) {
  await mkdir(join(dir, 'native/bin'), { recursive: true })
  await mkdir(join(dir, 'native/lib'))
  for (const name of ['bin/postgres', 'bin/initdb', 'lib/libpq']) {
    await writeFile(join(dir, 'native', name), name, { mode: 0o755 })
  }
  await chmod(dir, mode)
  return { postgres: join(dir, 'native/bin/postgres'), initdb: join(dir, 'native/bin/initdb') }
}

test('programs that every user can run are not copied', async () => {
  const binaries = await layOut(0o755)
  expect(await findClosedDirectory(binaries.postgres)).toBeUndefined()
  expect(await makeReachable(binaries, 65_534)).toBe(binaries)
})

test('programs behind a closed directory are copied with their libraries, once', async () => {
  const binaries = await layOut(0o700)
  expect(await findClosedDirectory(binaries.postgres)).toBe(dir)
  const [copy, again] = await Promise.all([makeReachable(binaries, 65_534), makeReachable(binaries, 65_534)])
  garbage.push(join(copy.postgres, '../..'))
  expect(again).toEqual(copy)
  expect(await findClosedDirectory(copy.postgres)).toBeUndefined()
  expect(await readFile(copy.initdb, 'utf8')).toBe('bin/initdb')
  expect(await readFile(join(copy.postgres, '../../lib/libpq'), 'utf8')).toBe('lib/libpq')
})

test('missing links between libraries are made, and existing ones are kept', async () => {
  const native = join((await layOut(0o755)).postgres, '../..')
  const links = [
    { source: 'native/lib/libpq', target: 'native/lib/libpq.so.5' },
    { source: 'native/lib/libpq', target: 'native/bin/libpq.so' },
  ]
  await writeFile(join(native, 'pg-symlinks.json'), JSON.stringify(links))
  await linkLibraries(native)
  await linkLibraries(native)
  expect(await readFile(join(native, 'lib/libpq.so.5'), 'utf8')).toBe('lib/libpq')
  expect(await readFile(join(native, 'bin/libpq.so'), 'utf8')).toBe('lib/libpq')
})
