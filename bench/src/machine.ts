import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { availableParallelism, cpus, loadavg, totalmem } from 'node:os'
import { dirname, join } from 'node:path'

/** Libraries whose versions decide the figures. */
const libraries = ['pg', 'pg-boss', 'graphile-worker', '@dbos-inc/dbos-sdk', 'drizzle-orm', 'hono', 'undici']

/** The machine and the versions, one line each. */
export function describeMachine(): readonly string[] {
  const [cpu] = cpus()
  const memoryGb = Math.round(totalmem() / 2 ** 30)
  return [
    `${availableParallelism()} cores (${cpu?.model.trim() ?? 'unknown'}), ${memoryGb} GB, load ${loadavg()[0]?.toFixed(1)}`,
    `Node ${process.versions.node}, ${libraries.map((name) => `${name} ${versionOf(name)}`).join(', ')}`,
  ]
}

/** Reads the version from the package's own manifest, which its exports may hide. */
function versionOf(name: string): string {
  const require = createRequire(import.meta.url)
  for (const folder of require.resolve.paths(name) ?? []) {
    try {
      const manifest: unknown = JSON.parse(readFileSync(join(folder, name, 'package.json'), 'utf8'))
      return (manifest as { version: string }).version
    } catch {
      // Not in this folder; try the next one.
    }
  }
  throw new Error(`${name} is not installed near ${dirname(import.meta.filename)}.`)
}
