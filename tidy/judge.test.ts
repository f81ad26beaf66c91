import { describe, expect, it } from 'vitest'
import { countJudgeLines, findSharing, maxJudgeLines } from './judge.ts'
import { readFiles } from './repository.ts'

const files = readFiles()

describe('the judge', () => {
  it('imports nothing of what it judges', () => {
    expect(files.flatMap(findSharing)).toEqual([])
  })

  it('can be read in one sitting', () => {
    expect(countJudgeLines(files)).toBeGreaterThan(100)
    expect(countJudgeLines(files)).toBeLessThanOrEqual(maxJudgeLines)
  })
})

describe('the check of the judge', () => {
  it.each([
    ['judge/src/verdict.ts', `import { Amount } from '@outlay/core'`],
    ['judge/src/verdict.ts', `export * from '../../simulator/src/invariants/invariants.ts'`],
    ['judge/src/verdict.ts', `const x = await import('../../packages/core/src/amount.ts')`],
    ['judge/src/verdict.ts', `import { Pool } from 'pg'`],
    ['judge/src/verdict.test.ts', `import { Amount } from '@outlay/core'`],
    ['simulator/src/recording/proxy.ts', `import { startFaultProxy } from '@outlay/testing'`],
    ['simulator/src/recording/proxy.ts', `import type { Environment } from '../environment.ts'`],
  ])('reports in %s: %s', (path, text) => {
    expect(findSharing({ path, text })).toHaveLength(1)
  })

  it.each([
    ['judge/src/verdict.ts', `import { once } from 'node:events'; import './case.ts'`],
    ['simulator/src/recording/proxy.ts', `import type { Exchange } from '@outlay/judge'`],
    ['simulator/src/chaos/chaos.ts', `import { judge } from '@outlay/judge'; import '@outlay/core'`],
  ])('lets pass in %s: %s', (path, text) => {
    expect(findSharing({ path, text })).toEqual([])
  })
})
