/** Tries the packed packages with every tool that hosts build and test with. Arguments name the only stacks to try, by parts of names. */
import process from 'node:process'
import { nestReleases } from './nest-stacks.ts'
import { openProject, type ProjectOptions } from './project.ts'
import { dependencies, moreDependencies, type Stack, stacks } from './stacks.ts'
import { toolProject } from './tool-stacks.ts'

const wanted = process.argv.slice(2)
const isWanted = ({ name }: Stack): boolean => wanted.length === 0 || wanted.some((part) => name.includes(part))
let tried = 0
let failed = 0

async function tryStacks(
  all: readonly Stack[],
  installed: Readonly<Record<string, string>>,
  options?: ProjectOptions,
): Promise<void> {
  const some = all.filter(isWanted)
  if (some.length === 0) return
  console.log('Packing, and installing in an empty folder …')
  await using project = await openProject(installed, options)
  for (const stack of some) {
    const began = performance.now()
    const { passed, output } = await project.run(stack)
    const seconds = ((performance.now() - began) / 1_000).toFixed(1)
    console.log(`${passed ? 'passed' : 'FAILED'}  ${seconds.padStart(6)} s  ${stack.name}`)
    tried += 1
    if (passed && stack.reports !== true) continue
    if (!passed) failed += 1
    console.log(output.replaceAll(/^/gm, '    '))
  }
}

await tryStacks(stacks, { ...dependencies, ...moreDependencies })
for (const host of [toolProject, ...nestReleases]) await tryStacks(host.stacks, host.dependencies, host.options)
console.log(failed === 0 ? `All ${tried} pass.` : `${failed} of ${tried} failed.`)
process.exitCode = failed === 0 ? 0 : 1
