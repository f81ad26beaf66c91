/** Packs every published package, as npm would get it, and prints the files. The argument is the folder; run it after a build. */
import { packPackages } from './packages.ts'

for (const file of packPackages(process.argv[2] ?? '.outlay/tarballs').values()) console.log(file)
