#!/usr/bin/env node
import process from 'node:process'
import { runOutlay } from './run.ts'

const abort = new AbortController()
process.once('SIGINT', () => abort.abort())
process.once('SIGTERM', () => abort.abort())
// A reader that closes the pipe, such as head, ends the command without an error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
  abort.abort()
})

process.exitCode = await runOutlay(process.argv.slice(2), {
  env: process.env,
  stdout: (text) => process.stdout.write(text),
  stderr: (text) => process.stderr.write(text),
  signal: abort.signal,
  interactive: process.stderr.isTTY === true,
})
