/** Runs turbo without telemetry, and the same on every operating system. */
import { spawnSync } from 'node:child_process'
import process from 'node:process'

const { status, error } = spawnSync('turbo', process.argv.slice(2), {
  stdio: 'inherit',
  shell: process.platform === 'win32',
  env: { ...process.env, TURBO_TELEMETRY_DISABLED: '1', DO_NOT_TRACK: '1' },
})
if (error !== undefined) throw error
process.exitCode = status ?? 1
