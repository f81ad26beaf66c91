/** The health check of the image, in a file of its own: it runs every ten seconds, and loading everything else would take longer than it does. */
import { check } from './check.ts'

if (!(await check(process.env))) process.exitCode = 1
