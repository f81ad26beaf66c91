/** A process that moves an account and kills itself at a step. Arguments: east, west, directory, account, node, step. */
import { pid } from 'node:process'
import { memoryGateway } from '@outlay/testing'
import pg from 'pg'
import { pgDriver } from '../src/drivers/pg.ts'
import { directory } from '../src/shards/directory.ts'
import { shards } from '../src/shards/shards.ts'

const [eastUrl, westUrl, directoryUrl, account = '', to = '', step] = process.argv.slice(2)
const open = (connectionString: string | undefined) => new pg.Pool({ connectionString, max: 4 })
const one = shards({
  nodes: { east: { driver: pgDriver(open(eastUrl)) }, west: { driver: pgDriver(open(westUrl)) } },
  route: directory({ pool: open(directoryUrl) }),
  engine: { gateway: memoryGateway() },
})
process.stdout.write(`${JSON.stringify({ ready: true })}\n`)
await one.accounts.move(account, {
  to,
  onProgress(progress) {
    if (progress.step === step) process.kill(pid, 'SIGKILL')
  },
})
