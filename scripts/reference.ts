/** Writes docs/reference and the generated parts of other documents from the code's own tables. Run it after a build. */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './packages.ts'
import { fillGenerated, partlyGenerated, writeReference } from './reference/pages.ts'

const pages = writeReference()
const folder = join(root, 'docs/reference')
mkdirSync(folder, { recursive: true })
for (const name of readdirSync(folder)) if (!pages.has(`docs/reference/${name}`)) rmSync(join(folder, name))
for (const [path, text] of pages) writeFileSync(join(root, path), text)

for (const name of partlyGenerated) {
  const path = join(root, name)
  writeFileSync(path, fillGenerated(readFileSync(path, 'utf8')))
}
console.log(`Wrote ${pages.size} pages.`)
