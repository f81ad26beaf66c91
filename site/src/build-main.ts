/** Builds the site into the given folder, by default `site/dist/pages`. */
import process from 'node:process'
import { buildSite } from './build.ts'

await buildSite(process.argv[2])
