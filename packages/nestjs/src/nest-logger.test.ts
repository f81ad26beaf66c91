import { Logger } from '@nestjs/common'
import { afterEach, expect, it, vi } from 'vitest'
import { nestLogger } from './nest-logger.ts'

afterEach(() => Logger.overrideLogger(true))

it('writes each line with its fields to the logger of the application', () => {
  const log = { log: vi.fn(), error: vi.fn(), warn: vi.fn(), debug: vi.fn() }
  Logger.overrideLogger(log)
  const logger = nestLogger('default')
  logger.debug({}, 'one')
  logger.info({ accountId: 'acme' }, 'two')
  logger.warn({ n: 1 }, 'three')
  nestLogger('refunds').error({}, 'four')
  expect(log.debug).toHaveBeenCalledWith('one', 'Outlay')
  expect(log.log).toHaveBeenCalledWith('two {"accountId":"acme"}', 'Outlay')
  expect(log.warn).toHaveBeenCalledWith('three {"n":1}', 'Outlay')
  expect(log.error).toHaveBeenCalledWith('four', undefined, 'Outlay refunds')
})
