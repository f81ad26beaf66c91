import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, expect, it } from 'vitest'

const directory = await mkdtemp(join(tmpdir(), 'outlay-service-test-'))
// As root, the server runs as another user.
await chmod(directory, 0o755)
const running = new Set<ChildProcess>()
afterAll(async () => {
  for (const child of running) {
    child.kill('SIGKILL')
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  }
  await rm(directory, { recursive: true, force: true })
})

const main = join(import.meta.dirname, 'main.ts')
const dataDir = join(directory, 'data')

async function start(args: readonly string[] = []) {
  const { DATABASE_URL: _, ...env } = process.env
  const child = spawn(process.execPath, [main, '--port', '0', '--data-dir', dataDir, ...args], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  running.add(child)
  child.once('exit', () => running.delete(child))
  let [text, log] = ['', '']
  child.stderr.on('data', (chunk: Buffer) => {
    log += chunk.toString()
  })
  for await (const chunk of child.stdout.iterator({ destroyOnReturn: false })) {
    text += String(chunk)
    if (text.includes('Ctrl-C ends it.')) {
      child.stdout.resume()
      return { child, text, log: () => log }
    }
  }
  throw new Error(`The service ended before it was ready: ${text}${log}`)
}

const fieldOf = (text: string, name: string) => new RegExp(`^  ${name} +(\\S+)$`, 'm').exec(text)?.[1] ?? ''

/** What the three commands print, pasted into one shell. */
async function paste(text: string) {
  const lines = text.split('\n').filter((line) => /^(TOKEN=\$\()?curl /.test(line))
  expect(lines).toHaveLength(3)
  const script = lines.join('\necho\n')
  const { stdout } = await promisify(execFile)('/bin/sh', ['-c', script], { timeout: 20_000 })
  const [balances, transfer] = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
  return { balances: balances?.['balances'] as { available: { value: string } }[], transfer }
}

async function end(child: ChildProcess, signal: NodeJS.Signals) {
  const exited = once(child, 'exit')
  child.kill(signal)
  const [code] = await exited
  return code as number | null
}

it('greets with commands that work, and keeps its data and its credentials over a restart', async () => {
  const first = await start()
  expect(first.text).not.toContain('from before')
  const pasted = await paste(first.text)
  expect(pasted.balances[0]?.available.value).toBe('100000.00')
  expect(pasted.transfer).toMatchObject({ status: 'pending', amount: { value: '12.50', currency: 'USDC' } })
  const url = fieldOf(first.text, 'base URL')
  expect((await fetch(`${url}/ready`)).status).toBe(200)
  expect((await fetch(`${url}/docs`)).status).toBe(200)
  const secret = fieldOf(first.text, 'client secret')
  expect(first.log()).toContain('"route":"/accounts/:account_id/transfers"')
  expect(first.log()).not.toContain(secret)
  expect(first.log()).not.toContain(fieldOf(first.text, 'account id'))
  expect((await stat(join(dataDir, 'credentials.json'))).mode & 0o077).toBe(0)
  expect((await stat(join(dataDir, 'encryption-key'))).mode & 0o077).toBe(0)
  expect(first.log()).toContain('A key for encryption at rest was made.')
  expect(await end(first.child, 'SIGTERM')).toBe(0)

  const second = await start(['--log-level', 'silent'])
  expect(second.text).toContain('from before')
  for (const name of ['client id', 'client secret', 'account id'])
    expect(fieldOf(second.text, name)).toBe(fieldOf(first.text, name))
  const again = await paste(second.text)
  expect(again.balances[0]?.available.value).toBe('99987.50')
  expect(second.log()).toBe('')
  expect(await end(second.child, 'SIGINT')).toBe(0)
})

it('says what is wrong with its arguments', async () => {
  const run = promisify(execFile)(process.execPath, [main, '--port', 'many'])
  await expect(run).rejects.toMatchObject({ code: 1, stderr: '--port must be a number from 0 to 65535.\n' })
  const { stdout } = await promisify(execFile)(process.execPath, [main, '--help'])
  expect(stdout).toContain('--data-dir')
})
