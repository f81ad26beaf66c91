import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, openSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { testDatabase } from '@outlay/testing/vitest'
import { describe, expect, it } from 'vitest'

const program = fileURLToPath(new URL('../dist/main.js', import.meta.url))

interface Ended {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

function start(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ended> {
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [program, ...args],
      { env: { PATH: process.env['PATH'] ?? '', ...env } },
      (error, stdout, stderr) => {
        const code = error === null ? 0 : typeof error.code === 'number' ? error.code : -1
        resolve({ code, stdout, stderr })
      },
    )
  })
}

describe('the program outlay, built', async () => {
  const database = await testDatabase()

  it('migrates a database and examines it', async () => {
    const env = { DATABASE_URL: database.url }
    expect(await start(['doctor'], env)).toMatchObject({ code: 1, stdout: expect.stringContaining('outlay migrate') })
    expect(await start(['migrate'], env)).toMatchObject({ code: 0, stdout: expect.stringContaining('is current') })
    expect(await start(['doctor', '--json'], env)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('"healthy": true'),
    })
  })

  it.runIf(existsSync('/dev/full'))('ends with a sentence when its output cannot be written', async () => {
    for (const args of [['doctor'], ['doctor', '--json'], ['migrate', '--print'], ['--help']]) {
      const child = spawn(process.execPath, [program, ...args], {
        env: { PATH: process.env['PATH'] ?? '', DATABASE_URL: database.url },
        stdio: ['ignore', openSync('/dev/full', 'w'), 'pipe'],
      })
      let stderr = ''
      child.stderr?.on('data', (data) => {
        stderr += data
      })
      const [code] = await once(child, 'close')
      const sentence = 'The output could not be written (ENOSPC); what the command has changed stays changed.\n'
      expect([code, stderr], args.join(' ')).toEqual([1, sentence])
    }
  })

  it('says what to do next when the arguments or the connection make no sense, and keeps the password', async () => {
    expect(await start(['status'])).toMatchObject({ code: 2, stderr: expect.stringContaining('DATABASE_URL') })
    expect(await start(['transfers', 'list', '--stage', 'nowhere'])).toMatchObject({ code: 2 })
    expect(await start(['nothing'])).toMatchObject({ code: 2 })
    expect(await start(['--help'])).toMatchObject({ code: 0, stdout: expect.stringContaining('doctor') })
    const gone = await start(['status', '--database-url', 'postgres://someone:hunter2@127.0.0.1:1/nowhere'])
    expect(gone.code).toBe(1)
    expect(gone.stderr).toContain('Check host and port')
    expect(gone.stdout + gone.stderr).not.toContain('hunter2')
    const odd = await start(['status', '--json'], { DATABASE_URL: 'hunter2' })
    expect(JSON.parse(odd.stderr)).toMatchObject({ error: { code: 'refused' } })
    expect(odd.stderr).not.toContain('hunter2')
  })
})
