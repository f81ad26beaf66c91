import { join } from 'node:path'
import { build } from 'vitepress'
import { root } from './repository.ts'

/** Builds the site, and answers with the absolute path of the folder of its pages. */
export async function buildSite(outDir = join(root, 'site/dist/pages')): Promise<string> {
  await build(join(root, 'site'), { outDir })
  return outDir
}
