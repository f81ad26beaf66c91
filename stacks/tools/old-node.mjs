// Loads each entry of each package in each way, on a Node that is too old, and wants the same sentence from all.
import { strictEqual } from 'node:assert'
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)
const sentence = `Outlay needs Node 22.19 or later, and this is Node ${process.versions.node}.`

/** A driver whose library is not installed cannot be loaded on any Node. */
const lacksLibrary = (error) =>
  /MODULE_NOT_FOUND$/.test(error?.code ?? '') && !/Cannot find (module|package) '(@outlay|\.|\/)/.test(error.message)

/** These are for vitest, which does not load there itself. */
const isForVitest = (name) => /vitest|conformance$/.test(name)

let count = 0
for (const folder of readdirSync('node_modules/@outlay')) {
  const manifest = JSON.parse(readFileSync(`node_modules/@outlay/${folder}/package.json`, 'utf8'))
  for (const [path, target] of Object.entries(manifest.exports)) {
    const name = manifest.name + path.slice(1)
    if (typeof target === 'string' || isForVitest(name)) continue
    const ways = { import: () => import(name) }
    if (target.require !== undefined) ways.require = async () => require(name)
    for (const [way, load] of Object.entries(ways)) {
      const error = await load().then(
        () => undefined,
        (thrown) => thrown,
      )
      if (lacksLibrary(error)) {
        console.log(`Skipped: ${way} of ${name}: ${error.message.split('\n')[0]}`)
        continue
      }
      strictEqual(error?.message, sentence, `${way} of ${name}: ${error?.stack ?? 'it loads'}`)
      count += 1
    }
  }
  for (const program of Object.values(manifest.bin ?? {})) {
    const { stderr } = spawnSync(process.execPath, [`node_modules/@outlay/${folder}/${program}`], { encoding: 'utf8' })
    strictEqual(stderr, `${sentence}\n`)
    count += 1
  }
}
console.log(`${count} ways end with: ${sentence}`)
