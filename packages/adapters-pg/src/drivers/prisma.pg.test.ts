import { describeDriver } from '@outlay/testing/conformance'
import pg from 'pg'
import { openPrisma, type PrismaClient } from '../../test/prisma-client.ts'
import { postgres } from '../backend.ts'
import { type PrismaTransaction, prismaDriver } from './prisma.ts'

describeDriver<PrismaTransaction<PrismaClient>>('prisma', (url) => {
  const pool = new pg.Pool({ connectionString: url, max: 30 })
  const prisma = openPrisma(pool)
  return {
    backend: postgres({ driver: prismaDriver({ prisma, pool }) }),
    transaction: (work) => prisma.$transaction(work),
    nested: (tx, work) => tx.$transaction(work),
    insertNote: (tx, id, body) => tx.note.create({ data: { id, body } }),
    async close() {
      await prisma.$disconnect()
      await pool.end()
    },
  }
})
