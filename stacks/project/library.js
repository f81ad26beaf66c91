// Pays an invoice in a transaction of the library that is named: node library.js typeorm "$INVOICE"
const { payInvoice } = require('./payout.js')

/** Each gives its driver, a handle outside of a transaction, and its way to run one. */
const libraries = {
  async 'mikro-orm'(url) {
    const { Pool } = require('pg')
    const { MikroORM, EntitySchema } = require('@mikro-orm/postgresql')
    const { mikroOrmDriver } = require('@outlay/adapters-pg/mikro-orm')
    const note = new EntitySchema({ name: 'Note', properties: { id: { type: 'text', primary: true } } })
    const orm = await MikroORM.init({ clientUrl: url, entities: [note] })
    const pool = new Pool({ connectionString: url })
    return {
      driver: mikroOrmDriver({ orm, pool }),
      outside: orm.em.fork(),
      transaction: (work) => orm.em.fork().transactional(work),
      close: () => Promise.all([orm.close(), pool.end()]),
    }
  },
  async 'postgres-js'(url) {
    const { Pool } = require('pg')
    const sql = require('postgres')(url, { onnotice() {} })
    const { postgresJsDriver } = require('@outlay/adapters-pg/postgres-js')
    const pool = new Pool({ connectionString: url })
    return {
      driver: postgresJsDriver({ sql, pool }),
      outside: sql,
      transaction: (work) => sql.begin(work),
      close: () => Promise.all([sql.end(), pool.end()]),
    }
  },
  async 'drizzle-postgres-js'(url) {
    const { drizzle } = require('drizzle-orm/postgres-js')
    const { Pool } = require('pg')
    const sql = require('postgres')(url, { onnotice() {} })
    const { drizzlePostgresJsDriver } = require('@outlay/adapters-pg/drizzle-postgres-js')
    const pool = new Pool({ connectionString: url })
    const db = drizzle({ client: sql })
    return {
      driver: drizzlePostgresJsDriver({ db, pool }),
      outside: db,
      transaction: (work) => db.transaction(work),
      close: () => Promise.all([sql.end(), pool.end()]),
    }
  },
  async neon(url) {
    const { Pool } = require('@neondatabase/serverless')
    const { neonDriver } = require('@outlay/adapters-pg/neon')
    const { openNeonProxy } = require('./neon-proxy.js')
    const closeProxy = await openNeonProxy()
    const pool = new Pool({ connectionString: url })
    pool.on('error', () => {})
    const outside = await pool.connect()
    return {
      driver: neonDriver(pool),
      outside,
      async transaction(work) {
        await outside.query('begin')
        const result = await work(outside)
        await outside.query('commit')
        return result
      },
      async close() {
        outside.release()
        await pool.end()
        closeProxy()
      },
    }
  },
  async 'drizzle-neon'(url) {
    const { Pool } = require('@neondatabase/serverless')
    const { drizzle } = require('drizzle-orm/neon-serverless')
    const { drizzleNeonDriver } = require('@outlay/adapters-pg/drizzle-neon')
    const { openNeonProxy } = require('./neon-proxy.js')
    const closeProxy = await openNeonProxy()
    const pool = new Pool({ connectionString: url })
    pool.on('error', () => {})
    const db = drizzle({ client: pool })
    return {
      driver: drizzleNeonDriver(db),
      outside: db,
      transaction: (work) => db.transaction(work),
      close: () => pool.end().then(closeProxy),
    }
  },
  async sequelize(url) {
    const { Pool } = require('pg')
    const { Sequelize } = require('sequelize')
    const { sequelizeDriver } = require('@outlay/adapters-pg/sequelize')
    const sequelize = new Sequelize(url, { logging: false })
    const pool = new Pool({ connectionString: url })
    return {
      driver: sequelizeDriver({ sequelize, pool }),
      outside: sequelize,
      transaction: (work) => sequelize.transaction(work),
      close: () => Promise.all([sequelize.close(), pool.end()]),
    }
  },
  async typeorm(url) {
    const { DataSource } = require('typeorm')
    const { typeormDriver } = require('@outlay/adapters-pg/typeorm')
    const dataSource = await new DataSource({ type: 'postgres', url }).initialize()
    return {
      driver: typeormDriver(dataSource),
      outside: dataSource.manager,
      transaction: (work) => dataSource.transaction(work),
      close: () => dataSource.destroy(),
    }
  },
}

const [name, invoice] = process.argv.slice(2)
payInvoice(invoice, libraries[name]).then((type) => console.log(type))
