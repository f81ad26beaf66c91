import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'

const root = import.meta.dirname
const allowed = /^(?:\.{1,2}\/|decimal\.js$|zod$|@noble\/hashes\/|@scure\/base$)/

const sources = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts') && !/\.test(?:-d)?\.ts$/.test(name))
  .map((name) => {
    const text = readFileSync(join(root, name), 'utf8')
    return { name, code: text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '') }
  })

const importsOf = (code: string) =>
  [...code.matchAll(/(?<!['"])(?:from|import)\s*\(?\s*'([^']+)'/g)].map(([, specifier]) => specifier ?? '')

const impure = [
  /\bDate\.now\b/,
  /\bnew Date\(\s*\)/,
  /\bMath\.random\b/,
  /\bperformance\b/,
  /\bprocess\./,
  /\bBuffer\b/,
  /\bcrypto\./,
  /\bset(?:Timeout|Interval|Immediate)\b/,
  /\bfetch\(/,
  /\bconsole\./,
  /\brequire\(/,
]

describe('core', () => {
  it('has sources to check', () => {
    expect(sources.length).toBeGreaterThan(30)
    expect(sources.flatMap(({ code }) => importsOf(code)).length).toBeGreaterThan(60)
  })

  it('imports its own files and pure libraries only', () => {
    const foreign = sources.flatMap(({ name, code }) =>
      importsOf(code)
        .filter((specifier) => !allowed.test(specifier))
        .map((specifier) => `${name}: ${specifier}`),
    )
    expect(foreign).toEqual([])
  })

  it('reads no clock, no randomness and no environment', () => {
    const found = sources.flatMap(({ name, code }) =>
      impure.filter((pattern) => pattern.test(code)).map((pattern) => `${name}: ${pattern.source}`),
    )
    expect(found).toEqual([])
  })

  it('has nouns that know neither ports nor engine', () => {
    const upward = sources
      .filter(({ name }) => !/[/\\]/.test(name) && name !== 'index.ts' && name !== 'adapter.ts')
      .flatMap(({ name, code }) =>
        importsOf(code)
          .filter((it) => /^\.\/(?:ports|engine)\//.test(it))
          .map((it) => `${name}: ${it}`),
      )
    expect(upward).toEqual([])
  })
})
