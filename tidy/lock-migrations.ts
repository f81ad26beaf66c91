/** Adds new migrations to the lock. Locked ones stay: a released migration never changes. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { hash, isMigration, type Lock, lockPath } from './migrations.ts'
import { readFiles, root } from './repository.ts'

const path = join(root, lockPath)
const lock = JSON.parse(readFileSync(path, 'utf8')) as Lock
const added = readFiles().filter((file) => isMigration(file) && lock[file.path] === undefined)
const all = { ...lock, ...Object.fromEntries(added.map((file) => [file.path, hash(file)])) }
const sorted = Object.fromEntries(Object.entries(all).sort(([a], [b]) => (a < b ? -1 : 1)))
writeFileSync(path, `${JSON.stringify(sorted, null, 2)}\n`)
console.log(added.length === 0 ? 'No new migration.' : added.map((file) => `Locked ${file.path}`).join('\n'))
