/** Tries the packed packages with every tool that hosts build and test with. */
import process from 'node:process'
import { openProject } from './project.ts'
import { dependencies, moreDependencies, stacks } from './stacks.ts'

console.log('Packing, and installing in an empty folder …')
await using project = await openProject({ ...dependencies, ...moreDependencies })
let failed = 0
for (const stack of stacks) {
  const began = performance.now()
  const { passed, output } = await project.run(stack)
  const seconds = ((performance.now() - began) / 1_000).toFixed(1)
  console.log(`${passed ? 'passed' : 'FAILED'}  ${seconds.padStart(6)} s  ${stack.name}`)
  if (passed) continue
  failed += 1
  console.log(output.replaceAll(/^/gm, '    '))
}
console.log(failed === 0 ? `All ${stacks.length} pass.` : `${failed} of ${stacks.length} failed.`)
process.exitCode = failed === 0 ? 0 : 1
