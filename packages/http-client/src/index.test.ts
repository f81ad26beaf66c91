import { expect, test } from 'vitest'
import * as httpClient from './index.ts'

test('the package exports exactly this', () => {
  expect(Object.keys(httpClient).sort()).toEqual([
    'createClient',
    'decodeTransfer',
    'httpGateway',
    'httpWebhooks',
    'observe',
    'outlayKeyLifetimeMs',
    'readObservation',
    'verifyWebhook',
  ])
})
