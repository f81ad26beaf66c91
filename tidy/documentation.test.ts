import { describe, expect, it } from 'vitest'
import { findUndocumented } from './documentation.ts'
import { readFiles } from './repository.ts'

describe('documentation', () => {
  it('stands at every export of a published package', () => {
    expect(readFiles().flatMap(findUndocumented)).toEqual([])
  })
})

describe('the check of documentation', () => {
  const check = (text: string) => findUndocumented({ path: 'packages/core/src/a.ts', text })

  it('reports exports without a doc comment', () => {
    expect(check('export const a = 1')).toHaveLength(1)
    expect(check('// A note.\nexport interface A {}')).toHaveLength(1)
    expect(check('/** */\nexport type A = 1')).toHaveLength(1)
    expect(check('/** Does this. */\nconst b = 1\nexport function a() {}')).toHaveLength(1)
  })

  it('accepts documented exports, a documented companion and what is not exported', () => {
    expect(check('/** A thing. */\nexport type A = 1\nexport const A = {}')).toEqual([])
    expect(check('/**\n * A thing.\n */\nexport class A {}\nconst b = 1')).toEqual([])
    expect(check(`export * from './b.ts'`)).toEqual([])
  })
})
