import { Injectable, type Provider, Scope } from '@nestjs/common'
import { memoryGateway } from '@outlay/testing'
import { describe, expect, it } from 'vitest'
import { openApplication } from '../test/application.ts'
import { memoryBackend } from '../test/memory-backend.ts'
import { findHandlers } from './handlers.ts'
import { OutlayModule } from './outlay-module.ts'
import { OnTransfer, OnTransferMany } from './subscription.ts'

/** Why an application with these providers does not bootstrap. */
async function refusalOf(...providers: Provider[]): Promise<string> {
  const backend = memoryBackend()
  const imports = [OutlayModule.forRoot({ backend, gateway: memoryGateway() })]
  const refusal = await openApplication({ imports, providers }).then(
    () => 'none',
    (error: unknown) => String(error),
  )
  expect(backend.log).toEqual([])
  return refusal
}

class Payouts {
  @OnTransfer('pay', ['transfer.completed'])
  async onPaid(): Promise<void> {}
}

describe('a decorated method', () => {
  it('of an engine that there is not is refused with those that there are', async () => {
    class Mistyped {
      @OnTransferMany('refund', ['transfer.completed'], { engine: 'refund' })
      async onRefund(): Promise<void> {}
    }
    expect(await refusalOf(Mistyped)).toBe(
      'Error: @OnTransferMany("refund") of Mistyped.onRefund is for the engine "refund"; there are default.',
    )
  })

  it.each([Scope.REQUEST, Scope.TRANSIENT])(
    'of a provider without one instance is refused: scope %i',
    async (scope) => {
      class Scoped extends Payouts {}
      Injectable({ scope })(Scoped)
      expect(await refusalOf(Scoped)).toContain(
        '@OnTransfer("pay") of Scoped.onPaid is in a provider that is not a singleton',
      )
    },
  )

  it('under a name that is in use is refused with both places', async () => {
    class Others {
      @OnTransfer('pay', ['transfer.failed'])
      async onFailed(): Promise<void> {}
    }
    const refusal = await refusalOf(Payouts, Others)
    expect(refusal).toContain('@OnTransfer("pay") of Others.onFailed has the name of that of Payouts.onPaid')
  })

  it('of a class that two modules provide is refused, since both instances would handle', async () => {
    expect(await refusalOf(Payouts, { provide: 'second', useClass: Payouts })).toContain('so is each provider')
  })

  it('whose types or options the engine refuses is named', async () => {
    class Mistyped {
      @OnTransfer('pay', ['transfer.finished' as 'transfer.completed'])
      async onFinished(): Promise<void> {}
    }
    expect(await refusalOf(Mistyped)).toContain(
      'of Mistyped.onFinished: There is no type of event "transfer.finished" (subscription "pay"); there are transfer.enqueued',
    )
    class Slow {
      @OnTransfer('pay', ['transfer.completed'], { timeoutMs: 0 })
      async onPaid(): Promise<void> {}
    }
    expect(await refusalOf(Slow)).toContain('timeoutMs of "pay" is a whole number from 1')
  })

  it('stays subscribed when it is overridden, and when another decorator puts a function in its place', async () => {
    const called: string[] = []
    class Overriding extends Payouts {
      override async onPaid(): Promise<void> {
        called.push('overriding')
      }
    }
    const wrapped = (_target: object, _method: string, descriptor: PropertyDescriptor) => {
      descriptor.value = async () => void called.push('wrapped')
    }
    class Wrapped {
      @wrapped
      @OnTransfer('refund', ['transfer.completed'])
      async onRefund(): Promise<void> {}
    }
    const providers = [{ instance: new Overriding() }, { instance: new Wrapped() }].map((one) => ({
      ...one,
      isDependencyTreeStatic: () => true,
      isTransient: false,
    }))
    const discovery = { getProviders: () => providers as never[], getControllers: () => [] }
    const found = findHandlers({ discovery })
    expect(found.map(({ place, subscription: { name } }) => [place, name])).toEqual([
      ['Overriding.onPaid', 'pay'],
      ['Wrapped.onRefund', 'refund'],
    ])
    for (const { handle } of found) await handle?.()
    expect(called).toEqual(['overriding', 'wrapped'])
  })

  it('has to be a method', () => {
    const decorate = OnTransfer('pay', ['transfer.completed']) as (...args: unknown[]) => void
    expect(() => decorate({}, 'onPaid', undefined)).toThrow('@OnTransfer("pay") decorates a method')
    expect(() => decorate(async () => undefined, { kind: 'method' })).toThrow('experimentalDecorators')
  })
})

it('two modules of one name are refused', async () => {
  const outlay = () => OutlayModule.forRoot({ backend: memoryBackend(), gateway: memoryGateway() })
  await expect(openApplication({ imports: [outlay(), outlay()] })).rejects.toThrow(
    'Two OutlayModules have the engine "default"',
  )
})
