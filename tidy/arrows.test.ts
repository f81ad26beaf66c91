import { describe, expect, it } from 'vitest'
import { findCycle, findRoomCycle, findWrongArrows, findWrongCoreArrows, readGlossary, rings } from './arrows.ts'
import { isPublished, readFiles } from './repository.ts'

const files = readFiles()
const glossary = readGlossary(files.find((file) => file.path === 'ARCHITECTURE.md')?.text ?? '')
const published = files.filter(isPublished)

describe('arrows', () => {
  it('point from the outer rings to the inner ones only', () => {
    expect(files.flatMap(findWrongArrows)).toEqual([])
  })

  it('inside core point from the engine to the ports to the nouns, and up the glossary', () => {
    expect(glossary).not.toEqual([])
    expect(published.flatMap((file) => findWrongCoreArrows(file, glossary))).toEqual([])
  })

  it.each(Object.keys(rings))('have no cycle inside %s', (ring) => {
    const own = published.filter((file) => file.path.startsWith(`packages/${ring}/`))
    expect(own).not.toEqual([])
    expect(findCycle(own)).toEqual([])
  })

  it.each(['simulator', 'bench', 'e2e', 'judge', 'scripts', 'site', 'tidy', 'mutation', 'examples'])(
    'have no cycle inside %s',
    (folder) => {
      const own = files.filter(({ path }) => path.startsWith(`${folder}/`) && path.endsWith('.ts'))
      expect(own).not.toEqual([])
      expect(findCycle(own)).toEqual([])
    },
  )

  it.each([
    'packages/adapters-pg/src/',
    'packages/service/src/',
    'bench/src/',
    'simulator/src/',
    'packages/cli/src/',
    'packages/console/src/',
  ])('have no cycle among the rooms of %s', (root) => {
    expect(findRoomCycle(files, root)).toEqual([])
  })

  it('that name nouns which are gone are dropped from the glossary', () => {
    const paths = new Set(files.map((file) => file.path))
    expect(glossary.filter((noun) => !paths.has(`packages/core/src/${noun}.ts`))).toEqual([])
  })
})

describe('the checks of arrows', () => {
  const core = (name: string, text: string) => ({ path: `packages/core/src/${name}.ts`, text })

  it('report a package that imports outwards', () => {
    expect(findWrongArrows(core('amount', `import type { X } from '@outlay/service'`))).toHaveLength(1)
    expect(findWrongArrows(core('amount', `const x = await import('@outlay/adapters-pg/pg')`))).toHaveLength(1)
    expect(findWrongArrows({ path: 'packages/service/src/a.ts', text: `export * from '@outlay/core'` })).toEqual([])
  })

  it('report a relative import of another package', () => {
    expect(findWrongArrows(core('amount', `import '../../service/src/ledger.ts'`))).toHaveLength(1)
  })

  it('let only tests use the testing package', () => {
    const text = `import '@outlay/testing'`
    expect(findWrongArrows({ path: 'packages/service/src/a.ts', text })).toHaveLength(1)
    expect(findWrongArrows({ path: 'packages/service/src/a.pg.test.ts', text })).toEqual([])
  })

  it('report a noun that imports from below, a port or the engine', () => {
    const order = ['amount', 'transfer']
    expect(findWrongCoreArrows(core('amount', `import './transfer.ts'`), order)).toHaveLength(1)
    expect(findWrongCoreArrows(core('transfer', `import './amount.ts'`), order)).toEqual([])
    expect(findWrongCoreArrows(core('transfer', `import './ports/backend.ts'`), order)).toHaveLength(1)
    expect(findWrongCoreArrows(core('ports/backend', `import '../engine/engine.ts'`), order)).toHaveLength(1)
    expect(findWrongCoreArrows(core('unheard-of', ''), order)).toHaveLength(1)
  })

  it('report a cycle', () => {
    expect(findCycle([core('a', `import './b.ts'`), core('b', `export * from './a.ts'`)])).toHaveLength(3)
  })

  it('report a cycle of rooms, whichever of their files it goes through', () => {
    const root = 'packages/core/src/'
    const there = core('one/a', `import '../two/b.ts'`)
    const back = core('two/c', `import type { A } from '../one/d.ts'`)
    expect(findRoomCycle([there, back], root)).toEqual(['one', 'two', 'one'])
    expect(
      findRoomCycle([there, core('two/c', `import '../frame.ts'`), core('frame', `import './one/a.ts'`)], root),
    ).toEqual([])
    expect(findRoomCycle([there, core('two/c.test', `import '../one/d.ts'`)], root)).toEqual([])
  })
})
