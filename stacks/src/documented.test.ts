import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { nestReleases } from './nest-stacks.ts'
import { stacks } from './stacks.ts'
import { toolProject } from './tool-stacks.ts'

const guide = readFileSync(new URL('../../docs/guides/stacks.md', import.meta.url), 'utf8')

it('names in the guide are those of stacks, and a star marks those that run with the tests', () => {
  const all = [...stacks, ...toolProject.stacks, ...nestReleases.flatMap((release) => release.stacks)]
  const shown = guide.split('\n').flatMap((line) => (line.startsWith('| ') ? [line.split(' | ').at(-1) ?? ''] : []))
  const named = shown
    .flatMap((cell) => [...cell.matchAll(/`([^`]+)`(\\\*)?/g)])
    .map(([, name = '', star]) => ({ name, isEssential: star !== undefined }))
    .filter(({ name }) => !name.endsWith('.test.ts') && !['TypeScript', 'attw'].includes(name))
  const known = all.map(({ name, isEssential = false }) => ({ name, isEssential }))
  expect(
    named.filter((one) => !known.some((stack) => stack.name === one.name && stack.isEssential === one.isEssential)),
  ).toEqual([])
  expect(named.filter(({ isEssential }) => isEssential)).toHaveLength(
    known.filter(({ isEssential }) => isEssential).length,
  )
})
