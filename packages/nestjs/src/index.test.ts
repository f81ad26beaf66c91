import { expect, it } from 'vitest'
import * as nestjs from './index.ts'

it('the package exports exactly these values', () => {
  expect(Object.keys(nestjs).sort()).toEqual([
    'InjectOutlay',
    'OnTransfer',
    'OnTransferMany',
    'OutlayEngine',
    'OutlayModule',
    'getOutlayToken',
    'receiveWebhook',
  ])
})
