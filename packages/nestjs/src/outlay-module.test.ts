import {
  type BeforeApplicationShutdown,
  type DynamicModule,
  Inject,
  Injectable,
  Module,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
  type OnModuleInit,
} from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import type { Engine, EventsHandler, HandlerContext, TransferEvent } from '@outlay/core'
import { memoryGateway } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { openApplication } from '../test/application.ts'
import { memoryBackend, type Tx } from '../test/memory-backend.ts'
import { getOutlayToken, InjectOutlay, OutlayEngine } from './injection.ts'
import type { OutlayOptions, OutlayOptionsFactory } from './module-options.ts'
import { OutlayModule } from './outlay-module.ts'
import { OnTransfer, OnTransferMany } from './subscription.ts'

const gateway = memoryGateway()
const context = { signal: new AbortController().signal }
const event = { id: 'a', type: 'transfer.completed', transferId: 't' } as TransferEvent

@Injectable()
class Payouts {
  readonly engine: OutlayEngine<Tx>
  readonly refunds: Engine<Tx>
  constructor(engine: OutlayEngine<Tx>, @InjectOutlay('refunds') refunds: Engine<Tx>) {
    this.engine = engine
    this.refunds = refunds
  }
}

describe('the engine', () => {
  it('is injected by its type, and one with a name by that', async () => {
    const app = await openApplication({
      imports: [
        OutlayModule.forRoot({ backend: memoryBackend(), gateway }),
        OutlayModule.forRoot({ name: 'refunds', backend: memoryBackend(), gateway }),
      ],
      providers: [Payouts],
    })
    const { engine, refunds } = app.get(Payouts)
    expect(engine).toBe(app.get(OutlayEngine))
    expect(engine).toBe(app.get(getOutlayToken()))
    expect(refunds).toBe(app.get(getOutlayToken('refunds')))
    expect(refunds).not.toBe(engine)
    await app.close()
  })

  it('that is not global is seen by the modules that import it, and by no other', async () => {
    class Consumer {}
    Injectable()(Consumer)
    Inject(OutlayEngine)(Consumer, undefined, 0)
    class Feature {}
    const outlay = OutlayModule.forRoot({ isGlobal: false, backend: memoryBackend(), gateway })
    Module({ imports: [outlay], providers: [Consumer] })(Feature)
    await (await openApplication({ imports: [Feature] })).close()
    class Stranger {}
    Module({ providers: [Consumer] })(Stranger)
    await expect(openApplication({ imports: [outlay, Stranger] })).rejects.toThrow(
      /resolve dependencies of the Consumer/,
    )
  })

  it('has the logger of Nest, unless it is given one', async () => {
    const options: OutlayOptions<Tx> = { backend: memoryBackend(), gateway, runtime: { logger: undefined as never } }
    await (await openApplication({ imports: [OutlayModule.forRoot(options)] })).close()
    await expect(
      openApplication({ imports: [OutlayModule.forRoot({ ...options, runtime: { logger: {} as never } })] }),
    ).rejects.toMatchObject({ code: 'invalid_request', field: 'runtime.logger' })
  })
})

describe('options', () => {
  const backend = memoryBackend()

  @Injectable()
  class Factory implements OutlayOptionsFactory<Tx> {
    createOutlayOptions(): OutlayOptions<Tx> {
      return { backend, gateway, work: { concurrency: 7 } }
    }
  }
  class Holder {}
  Module({ providers: [Factory], exports: [Factory] })(Holder)

  it.each<[string, DynamicModule]>([
    ['useClass', OutlayModule.forRootAsync({ useClass: Factory })],
    ['useExisting', OutlayModule.forRootAsync({ imports: [Holder], useExisting: Factory })],
    [
      'useFactory',
      OutlayModule.forRootAsync({
        imports: [Holder],
        inject: [Factory],
        useFactory: async (factory: Factory) => factory.createOutlayOptions(),
      }),
    ],
  ])('come from %s', async (_, outlay) => {
    const app = await openApplication({ imports: [outlay] })
    expect(backend.started()?.options).toEqual({ concurrency: 7 })
    await app.close()
  })

  it('without one source, or with a mistyped name, are refused', () => {
    expect(() => OutlayModule.forRootAsync({})).toThrow(/one of useFactory, useClass and useExisting/)
    expect(() => OutlayModule.forRootAsync({ useClass: Factory, useExisting: Factory })).toThrow(/one of/)
    expect(() => OutlayModule.forRootAsync({ useclass: Factory } as never)).toThrow(/useclass/)
    expect(() => OutlayModule.forRoot({ name: '', backend, gateway })).toThrow(/name of an engine/)
    expect(() => OutlayModule.forRoot(undefined as never)).toThrow(/takes the options of an engine, such as \{ backend/)
  })

  it('that a factory forgets to return are refused', async () => {
    const forgotten = OutlayModule.forRootAsync({ useFactory: () => undefined as never })
    await expect(openApplication({ imports: [forgotten] })).rejects.toThrow(
      'The provider of the options of the engine "default" returns them, such as { backend, gateway }; got undefined.',
    )
  })

  it('that createEngine refuses fail the creation of the application', async () => {
    const mistyped = OutlayModule.forRoot({ backend, gateway, wokr: false } as never)
    await expect(openApplication({ imports: [mistyped] })).rejects.toMatchObject({
      code: 'invalid_request',
      field: 'wokr',
    })
  })
})

class Ledger {
  readonly seen: unknown[] = []

  @OnTransfer('one', ['transfer.completed'], { timeoutMs: 5_000 })
  @OnTransfer('failed', ['transfer.failed'])
  async onOne(one: TransferEvent, tx: Tx, given: HandlerContext): Promise<void> {
    this.seen.push([one, tx, given])
  }

  @OnTransferMany('many', ['transfer.completed'], { batchSize: 9 })
  async onMany(events: readonly TransferEvent[], tx: Tx): Promise<void> {
    this.seen.push([events, tx])
  }
}
Injectable()(Ledger)

describe('workers', () => {
  it('have the decorated methods of providers and of controllers, and call them on their instance', async () => {
    class Base {
      calls = 0

      @OnTransfer('inherited', ['transfer.completed'])
      async onBase(): Promise<void> {
        this.calls += 1
      }
    }
    class Derived extends Base {}
    const backend = memoryBackend()
    const app = await openApplication({
      imports: [OutlayModule.forRoot({ backend, gateway })],
      providers: [Ledger, { provide: 'alias', useExisting: Ledger }],
      controllers: [Derived],
    })
    const deliver = (handler: EventsHandler<Tx>) => handler([event], { number: 1 }, context)
    for (const name of ['one', 'many', 'inherited']) await deliver(backend.subscription(name).handler)
    expect(app.get(Ledger).seen).toEqual([
      [event, { number: 1 }, context],
      [[event], { number: 1 }],
    ])
    expect(app.get(Derived).calls).toBe(1)
    expect(backend.subscription('one')).toMatchObject({
      types: ['transfer.completed'],
      timeoutMs: 5_000,
      together: false,
    })
    expect(backend.subscription('many')).toMatchObject({ batchSize: 9, together: true })
    expect(backend.started()?.subscriptions).toHaveLength(4)
    await app.close()
  })

  it('of each engine have its own handlers', async () => {
    class Refunds {
      @OnTransfer('refunds', ['transfer.completed'], { engine: 'refunds' })
      async onRefund(): Promise<void> {}
    }
    const [payouts, refunds] = [memoryBackend(), memoryBackend()]
    const app = await openApplication({
      imports: [
        OutlayModule.forRoot({ backend: payouts, gateway }),
        OutlayModule.forRoot({ name: 'refunds', backend: refunds, gateway }),
      ],
      providers: [Ledger, Refunds],
    })
    expect(
      payouts
        .started()
        ?.subscriptions.map(({ name }) => name)
        .sort(),
    ).toEqual(['failed', 'many', 'one'])
    expect(refunds.started()?.subscriptions.map(({ name }) => name)).toEqual(['refunds'])
    await app.close()
    expect([...payouts.log, ...refunds.log]).toEqual(['started', 'stopped', 'started', 'stopped'])
  })

  it.each([true, undefined, {}])('start and stop with the application: work %j', async (work) => {
    const backend = memoryBackend()
    const app = await openApplication({ imports: [OutlayModule.forRoot({ backend, gateway, work })] })
    expect(backend.log).toEqual(['started'])
    await app.close()
    expect(backend.log).toEqual(['started', 'stopped'])
  })

  it('do not start in a process that only enqueues', async () => {
    const backend = memoryBackend()
    const app = await openApplication({ imports: [OutlayModule.forRoot({ backend, gateway, work: false })] })
    await app.close()
    expect(backend.log).toEqual([])
  })

  it('that cannot start fail the bootstrap with the error of the engine', async () => {
    const refusal = new Error('The schema is not migrated.')
    const backend = memoryBackend({ check: () => Promise.reject(refusal) })
    await expect(openApplication({ imports: [OutlayModule.forRoot({ backend, gateway })] })).rejects.toBe(refusal)
    const mistyped = OutlayModule.forRoot({ backend, gateway, work: { concurency: 1 } as never })
    await expect(openApplication({ imports: [mistyped] })).rejects.toMatchObject({ field: 'concurency' })
  })

  it('that have started before another engine fails stop when the application is closed', async () => {
    const refusal = new Error('The schema is not migrated.')
    const [payouts, refunds] = [memoryBackend(), memoryBackend({ check: () => Promise.reject(refusal) })]
    class AppModule {}
    Module({
      imports: [
        OutlayModule.forRoot({ backend: payouts, gateway }),
        OutlayModule.forRoot({ name: 'refunds', backend: refunds, gateway }),
      ],
    })(AppModule)
    const app = await NestFactory.create(AppModule, { logger: false, abortOnError: false })
    await expect(app.listen(0, '127.0.0.1')).rejects.toBe(refusal)
    expect(payouts.log).toEqual(['started'])
    await app.close()
    expect([payouts.log, refunds.log]).toEqual([['started', 'stopped'], []])
  })

  it('run between the hooks of the module that imports them', async () => {
    const backend = memoryBackend()
    class Host implements OnModuleInit, OnApplicationBootstrap, OnModuleDestroy, BeforeApplicationShutdown {
      onModuleInit = () => void backend.log.push('init')
      onApplicationBootstrap = () => void backend.log.push('bootstrap')
      onModuleDestroy = () => void backend.log.push('destroy')
      beforeApplicationShutdown = () => void backend.log.push('before shutdown')
    }
    const app = await openApplication({ imports: [OutlayModule.forRoot({ backend, gateway })], providers: [Host] })
    await app.close()
    expect(backend.log).toEqual(['init', 'started', 'bootstrap', 'destroy', 'stopped', 'before shutdown'])
  })

  it.each([true, false])(
    'start after the modules that they import, and stop before those: global %s',
    async (isGlobal) => {
      const backend = memoryBackend()
      class Database implements OnModuleDestroy {
        onModuleInit() {
          backend.log.push('opened')
        }
        onModuleDestroy() {
          backend.log.push('closed')
        }
      }
      class DatabaseModule {}
      Module({ providers: [Database], exports: [Database] })(DatabaseModule)
      const outlay = OutlayModule.forRootAsync({
        isGlobal,
        imports: [DatabaseModule],
        inject: [Database],
        useFactory: () => ({ backend, gateway }),
      })
      const app = await openApplication({ imports: [DatabaseModule, outlay] })
      await app.close()
      expect(backend.log).toEqual(['opened', 'started', 'stopped', 'closed'])
    },
  )
})
