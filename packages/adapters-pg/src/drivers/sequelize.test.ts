import { Pool } from 'pg'
import { expect, test } from 'vitest'
import { openSequelize } from '../../test/sequelize-subject.ts'
import { sequelizeDriver } from './sequelize.ts'

test.each([
  [20, 5, 5],
  [3, 30, 3],
])('handlers take no more than both pools have: %i and %i', (max, own, expected) => {
  const sequelize = openSequelize('postgres://127.0.0.1/none', { max: own })
  const { maxConnections } = sequelizeDriver({ sequelize, pool: new Pool({ max }) })
  // The pool of node-postgres has one that listens.
  expect(maxConnections).toBeLessThanOrEqual(expected)
  expect(maxConnections).toBeGreaterThanOrEqual(expected - 1)
})
