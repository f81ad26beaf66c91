import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { countFolder } from './folder-size.ts'

test('all files count, and a package is a manifest right below a node_modules or a scope', () => {
  const folder = join(mkdtempSync(join(tmpdir(), 'outlay-folder-')), 'node_modules')
  onTestFinished(() => rmSync(join(folder, '..'), { recursive: true }))
  for (const path of ['one', '@scope/two', 'one/dist', 'one/node_modules/three', '.cache']) {
    mkdirSync(join(folder, path), { recursive: true })
    writeFileSync(join(folder, path, 'package.json'), '{}')
  }
  expect(countFolder(folder)).toEqual({ bytes: 10, packages: 3 })
})
