import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { waitUntil } from './harness.ts'
import { spawnNode } from './processes.ts'

let dir: string

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'outlay-processes-'))
})

afterAll(() => rm(dir, { recursive: true, force: true }))

/** Writes a program and returns its path. */
async function write(name: string, source: string): Promise<string> {
  const path = join(dir, name)
  await writeFile(path, source)
  return path
}

const isRunning = (pid: number) => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

const server = `
  const server = require('node:http').createServer().listen(0, '127.0.0.1', () => {
    console.log('warming up')
    console.log(JSON.stringify({ ready: true, args: process.argv.slice(2), mark: process.env.MARK }))
  })
  process.on('message', (message) => console.log('received ' + message.word))
  process.on('SIGTERM', () => { console.log('closing'); server.close(() => process.exit(7)) })
`

test('a program is ready when it prints so, exchanges messages, and stops', async () => {
  const program = await spawnNode(await write('server.cjs', server), { args: ['a', 'b'], env: { MARK: 'm' } })
  expect(program.ready).toEqual({ ready: true, args: ['a', 'b'], mark: 'm' })
  expect(await program.waitForLine(/^warm/)).toBe('warming up')
  program.send({ word: 'hello' })
  expect(await program.waitForLine((line) => line.startsWith('received'))).toBe('received hello')
  expect(await program.stop()).toEqual({ code: 7, signal: null })
  expect(program.lines.at(-1)).toBe('closing')
  await expect(program.waitForLine(/never/)).rejects.toThrow('ended with 7')
})

test('a program may report that it is ready with a message', async () => {
  const entry = await write('ipc.cjs', `process.send({ ready: true, port: 1 }); setInterval(() => {}, 1000)`)
  await using program = await spawnNode(entry)
  expect(program.ready).toEqual({ ready: true, port: 1 })
})

test('a killed program is gone at once', async () => {
  const program = await spawnNode(await write('killed.cjs', server))
  expect(await program.kill()).toEqual({ code: null, signal: 'SIGKILL' })
  expect(isRunning(program.pid)).toBe(false)
})

test('a program that ignores SIGTERM is killed in the end', async () => {
  const entry = await write(
    'deaf.cjs',
    `process.on('SIGTERM', () => {}); setInterval(() => {}, 1000)
    console.log('{"ready":true}')`,
  )
  const program = await spawnNode(entry)
  expect(await program.stop(50)).toEqual({ code: null, signal: 'SIGKILL' })
})

test('a program that fails to start reports why', async () => {
  const entry = await write('broken.cjs', `throw new Error('no such table')`)
  await expect(spawnNode(entry)).rejects.toThrow(/ended with 1[\s\S]*no such table/)
  await expect(
    spawnNode(await write('mute.cjs', `setInterval(() => {}, 1000)`), { readyTimeoutMs: 50 }),
  ).rejects.toThrow('Waited 50 ms')
})

test('a program ends when the process that spawned it is killed', async () => {
  const child = await write('child.cjs', `setInterval(() => {}, 1000); console.log('{"ready":true}')`)
  const parent = await write(
    'parent.mjs',
    `import { spawnNode } from ${JSON.stringify(new URL('./processes.ts', import.meta.url).href)}
     const child = await spawnNode(${JSON.stringify(child)})
     console.log(JSON.stringify({ ready: true, child: child.pid }))`,
  )
  const program = await spawnNode(parent)
  const pid = Number(program.ready.child)
  expect(isRunning(pid)).toBe(true)
  await program.kill()
  await waitUntil(() => !isRunning(pid), { describe: 'the grandchild to end' })
})
