import { expect, test } from 'vitest'
import { recordingLogger, silentLogger } from './logger.ts'

test('a recording logger keeps level, fields and message in order', () => {
  const logger = recordingLogger()
  logger.warn({ transferId: '1' }, 'slow')
  logger.error({}, 'gone')
  expect(logger.entries).toEqual([
    { level: 'warn', fields: { transferId: '1' }, message: 'slow' },
    { level: 'error', fields: {}, message: 'gone' },
  ])
})

test('a silent logger has every level', () => {
  for (const level of ['debug', 'info', 'warn', 'error'] as const) expect(silentLogger[level]({}, 'x')).toBeUndefined()
})
