import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { findUnlocked, findUpperCaseSql, hash, isMigration, isSql, type Lock, lockPath } from './migrations.ts'
import { readFiles, root } from './repository.ts'

const files = readFiles()
const migrations = files.filter(isMigration)

describe('migrations', () => {
  it('never change once they are locked', () => {
    const lock = JSON.parse(readFileSync(join(root, lockPath), 'utf8')) as Lock
    expect(migrations).not.toEqual([])
    expect(findUnlocked(migrations, lock)).toEqual([])
  })

  it('are written in lower case', () => {
    expect(files.filter(isSql).flatMap(findUpperCaseSql)).toEqual([])
  })
})

describe('the checks of migrations', () => {
  const first = { path: 'packages/adapters-pg/migrations/0001_first.sql', text: 'select 1' }

  it('report a migration that changed, that vanished or that is not locked', () => {
    const lock = { [first.path]: hash(first) }
    expect(findUnlocked([first], lock)).toEqual([])
    expect(findUnlocked([{ ...first, text: 'select 2' }], lock)[0]).toContain('was changed')
    expect(findUnlocked([], lock)[0]).toContain('was removed')
    expect(findUnlocked([first], {})[0]).toContain('is new')
  })

  it('report keywords in upper case, and not the words of comments, strings and names', () => {
    expect(findUpperCaseSql({ ...first, text: 'select 1\nFROM a' })).toEqual([
      `${first.path}:2: write FROM in lower case`,
    ])
    expect(findUpperCaseSql({ ...first, text: `-- NOT NULL\nselect 'IT''S NOT' as "OR" /* AND */` })).toEqual([])
  })
})
