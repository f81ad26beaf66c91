import { join } from 'node:path'
import { build } from 'vitepress'
import { root } from './repository.ts'

/** Builds the site into a folder, by default `site/dist/pages`, and returns its absolute path. */
export async function buildSite(outDir = join(root, 'site/dist/pages')): Promise<string> {
  await build(join(root, 'site'), { outDir })
  return outDir
}
