import { describe, expect, it } from 'vitest'
import { spawnUntil } from './crash-program.ts'

const script = `import { crashPoints } from ${JSON.stringify(import.meta.resolve('@outlay/testing'))}
const crash = crashPoints(process.env)
console.log(JSON.stringify({ ready: true }))
await crash.reach('passed')
console.log('passed')
await crash.reach('a point of ours')
console.log('over')
process.exit(3)`
const spawn = (point: string) =>
  spawnUntil(import.meta.filename, point, {
    nodeArgs: ['--input-type=module', '--eval', script, '--'],
    readyTimeoutMs: 60_000,
  })

describe('a program with crash points', () => {
  it('stops at its own point, after the others', async () => {
    await using doomed = await spawn('a point of ours')
    await doomed.reached(60_000)
    expect(doomed.program.lines).toContain('passed')
    expect(await doomed.kill()).toEqual({ code: null, signal: 'SIGKILL' })
    expect(doomed.program.lines).not.toContain('over')
  }, 120_000)

  it('is reported when it ends before the point', async () => {
    await using doomed = await spawn('nowhere')
    await expect(doomed.reached(60_000)).rejects.toThrow(/ended with 3 before nowhere/)
  }, 120_000)

  it('needs a proxy for points on the wire, and a database for the point in the database', async () => {
    await expect(spawn('request_left')).rejects.toThrow(/give the proxy/)
    await expect(spawn('answer_on_its_way')).rejects.toThrow(/give the proxy/)
    await expect(spawn('settling')).rejects.toThrow(/databaseUrl/)
  })
})
