import { expect, test } from 'vitest'
import { parseCommandLine } from './command-line.ts'

const known = ['enqueue', 'dispatch']

test('a bare command runs everything with the defaults', () => {
  expect(parseCommandLine([], known)).toEqual({ workloads: [] })
})

test('names and options are read in any order, and the separator of a package manager is ignored', () => {
  const read = parseCommandLine(
    ['--', '--rounds', '7', 'dispatch', '--seconds=2.5', '--size', '9', '--json', 'out.json'],
    known,
  )
  expect(read).toEqual({ workloads: ['dispatch'], rounds: 7, seconds: 2.5, size: 9, json: 'out.json' })
})

test('help answers without a run', () => {
  expect(parseCommandLine(['--help'], known)).toBeUndefined()
})

test.each([
  [['nonsense'], 'There is no workload nonsense; there are enqueue, dispatch.'],
  [['--rounds', '0'], '--rounds takes a number above zero, not "0".'],
  [['--rounds', '1.5'], '--rounds takes a whole number.'],
  [['--seconds', 'soon'], '--seconds takes a number above zero, not "soon".'],
])('%j is refused with a sentence', (args, message) => {
  expect(() => parseCommandLine(args, known)).toThrow(message)
})
