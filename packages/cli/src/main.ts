#!/usr/bin/env node
import process from 'node:process'

// Loaded before anything else, so that a command says in one line that its Node is too old.
await import('@outlay/core/node-version').catch((error: Error) => {
  process.stderr.write(`${error.message}\n`)
  process.exit(1)
})
const { runOutlay } = await import('./run.ts')

const abort = new AbortController()
process.once('SIGINT', () => abort.abort())
process.once('SIGTERM', () => abort.abort())
let isUnwritten = false
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  abort.abort()
  // A reader that closes the pipe, such as head, ends the command without an error.
  if (error.code === 'EPIPE' || isUnwritten) return
  isUnwritten = true
  process.exitCode = 1
  const why = error.code ?? error.message
  process.stderr.write(`The output could not be written (${why}); what the command has changed stays changed.\n`)
})
// There is nowhere left to say it.
process.stderr.on('error', () => undefined)

const code = await runOutlay(process.argv.slice(2), {
  env: process.env,
  stdout: (text) => process.stdout.write(text),
  stderr: (text) => process.stderr.write(text),
  signal: abort.signal,
  interactive: process.stderr.isTTY === true,
})
process.exitCode = isUnwritten ? 1 : code
