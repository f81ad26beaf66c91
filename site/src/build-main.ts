/** Builds the site into the folder that is given, or else into `site/dist/pages`. */
import process from 'node:process'
import { buildSite } from './build.ts'

await buildSite(process.argv[2])
