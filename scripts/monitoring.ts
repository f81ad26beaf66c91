/** Writes the dashboards and alarms of deploy/ from the instruments. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { writeMonitoring } from './monitoring/files.ts'
import { root } from './packages.ts'

const files = writeMonitoring()
for (const [path, text] of files) {
  mkdirSync(dirname(join(root, path)), { recursive: true })
  writeFileSync(join(root, path), text)
}
console.log(`Wrote ${files.size} files.`)
