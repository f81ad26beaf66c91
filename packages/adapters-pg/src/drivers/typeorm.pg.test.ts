import { createEngine, OutlayError } from '@outlay/core'
import { memoryGateway } from '@outlay/testing'
import { describeDriver } from '@outlay/testing/conformance'
import { testDatabase } from '@outlay/testing/vitest'
import { DataSource } from 'typeorm'
import { describe, expect, it } from 'vitest'
import { migrateOutbox, samplePayout } from '../../test/outbox.ts'
import { openDataSource, openTypeorm, typeorms } from '../../test/typeorm-subject.ts'
import { postgres } from '../backend.ts'
import { typeormDriver } from './typeorm.ts'

describe.each(Object.entries(typeorms))('%s', (name, library) => {
  describeDriver(name, (url) => openTypeorm(url, library))
})

describe('TypeORM with unnamed statements', () => {
  describeDriver('TypeORM, unprepared', (url) => openTypeorm(url, undefined, { prepared: false }))
})

describe('a data source', async () => {
  const { url } = await testDatabase({ key: 'outlay', prepare: migrateOutbox })

  it('that is not initialized is refused with what to do', async () => {
    const refusal = (dataSource: DataSource) => {
      try {
        return typeormDriver(dataSource)
      } catch (error) {
        return error
      }
    }
    const dataSource = new DataSource({ type: 'postgres', url })
    expect(refusal(dataSource)).toMatchObject({ code: 'invalid_request', field: 'dataSource' })
    expect(String(refusal(dataSource))).toContain('await dataSource.initialize()')
    await dataSource.initialize()
    expect(OutlayError.is(refusal(dataSource))).toBe(false)
    await dataSource.destroy()
    expect(refusal(dataSource)).toMatchObject({ code: 'invalid_request', field: 'dataSource' })
    const other = new DataSource({ type: 'cockroachdb', url, timeTravelQueries: false })
    expect(String(refusal(other))).toContain('must be of the type postgres')
  })

  it('keeps its pool whole where a query runner without a connection is refused', async () => {
    const dataSource = await openDataSource(url, { max: 1 })
    const engine = createEngine({
      backend: postgres({ driver: typeormDriver(dataSource) }),
      gateway: memoryGateway(),
    })
    const runner = dataSource.createQueryRunner()
    const refused = engine.transfers.enqueue(runner.manager, samplePayout('acme'))
    await expect(refused).rejects.toMatchObject({ code: 'no_transaction', field: 'tx' })
    const ofItself = engine.transfers.enqueue(runner as never, samplePayout('acme'))
    await expect(ofItself).rejects.toThrow('tx is a query runner and not its manager')
    // The only connection is free.
    expect(await dataSource.query('select 1 as one')).toEqual([{ one: 1 }])
    await runner.release()
    await dataSource.destroy()
  })
})
