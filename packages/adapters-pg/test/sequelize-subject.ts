import type { DriverSubject } from '@outlay/testing/conformance'
import pg from 'pg'
import * as sequelize from 'sequelize'
import * as oldest from 'sequelize-6.37'
import { postgres } from '../src/backend.ts'
import { sequelizeDriver } from '../src/drivers/sequelize.ts'

/** The releases of Sequelize that the driver is tested with: the oldest and the newest that it claims. */
export const sequelizes: Readonly<Record<string, typeof sequelize>> = {
  'Sequelize 6.37': oldest as unknown as typeof sequelize,
  'Sequelize 6': sequelize,
}

/** Opens a pool of Sequelize. */
export const openSequelize = (
  url: string,
  {
    max = 30,
    library = sequelize,
    dialectModule = pg,
  }: { max?: number; library?: typeof sequelize; dialectModule?: object } = {},
): sequelize.Sequelize => new library.Sequelize(url, { logging: false, pool: { max }, dialectModule })

/** Opens Sequelize with its driver. */
export function openSequelizeSubject(
  url: string,
  library: typeof sequelize = sequelize,
): DriverSubject<sequelize.Transaction> {
  const root = openSequelize(url, { library })
  const pool = new pg.Pool({ connectionString: url, max: 30 })
  return {
    backend: postgres({ driver: sequelizeDriver({ sequelize: root, pool }) }),
    async transaction(work) {
      const tx = await root.transaction()
      try {
        const result = await work(tx)
        await tx.commit()
        return result
      } catch (error) {
        await tx.rollback()
        throw error
      }
    },
    nested: (tx, work) => root.transaction({ transaction: tx }, work),
    insertNote: (transaction, id, body) =>
      root.query('insert into note (id, body) values (:id, :body)', { replacements: { id, body }, transaction }),
    close: () => Promise.all([root.close(), pool.end()]),
  }
}
