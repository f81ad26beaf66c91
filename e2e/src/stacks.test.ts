import { dependencies, stacks } from '@outlay/stacks'
import { openProject } from '@outlay/stacks/project'
import { testDatabase } from '@outlay/testing/vitest'
import { afterAll, describe, expect, it } from 'vitest'

describe('the packed packages, in a CommonJS project', { timeout: 600_000 }, async () => {
  const { adminUrl } = await testDatabase()
  const project = await openProject(dependencies, { url: adminUrl })
  afterAll(() => project[Symbol.asyncDispose]())

  it.each(stacks.filter(({ isEssential }) => isEssential))('work with $name', async (stack) => {
    const { passed, output } = await project.run(stack)
    expect(passed, output).toBe(true)
  })
})
