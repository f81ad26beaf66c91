/**
 * Publishes every package at its version, with a statement of provenance, as the workflow of a tag does. It skips published
 * ones, so an interrupted run can be repeated. With `--dry-run` nothing leaves this machine.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { listPackages, packPackages, root } from '../packages.ts'
import { newestVersion } from './changelog.ts'
import { findObstacles, sortByDependency } from './readiness.ts'
import { ask, run } from './run.ts'

const isDryRun = process.argv.includes('--dry-run')
const manifests = listPackages().map(({ manifest }) => manifest)
const obstacles = findObstacles({
  manifests,
  newest: newestVersion(readFileSync(join(root, 'CHANGELOG.md'), 'utf8')),
  waiting: readdirSync(join(root, '.changeset')).filter((name) => name.endsWith('.md') && name !== 'README.md'),
  tags: ask('git', ['tag', '--points-at', 'HEAD'])?.split('\n') ?? [],
  isClean: ask('git', ['status', '--porcelain']) === '',
})
for (const obstacle of obstacles) console.error(`- ${obstacle}`)
if (obstacles.length > 0 && !isDryRun) throw new Error('This is not ready to be published.')

const tarballs = packPackages('.outlay/tarballs')
for (const { name, version } of sortByDependency(manifests)) {
  const isPublished = !isDryRun && ask('npm', ['view', `${name}@${version}`, 'version']) === version
  const tarball = tarballs.get(name)
  if (isPublished || tarball === undefined) console.log(`${name}@${version} is published already.`)
  else run('npm', ['publish', tarball, '--access', 'public', isDryRun ? '--dry-run' : '--provenance'])
}
