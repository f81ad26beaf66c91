import type { Engine, HandlerContext, TransferEvent } from '@outlay/core'
import { expectTypeOf, test } from 'vitest'
import { OutlayEngine } from './injection.ts'
import { OutlayModule } from './outlay-module.ts'
import { OnTransfer, OnTransferMany } from './subscription.ts'

interface Tx {
  readonly number: number
}

test('a decorated method takes the event, or the events, of its decorator', () => {
  class Payouts {
    @OnTransfer('one', ['transfer.completed'])
    async one(_event: TransferEvent, _tx: Tx, _context: HandlerContext): Promise<void> {}

    @OnTransferMany('many', ['transfer.completed'], { batchSize: 5, engine: 'refunds' })
    async many(_events: readonly TransferEvent[], _tx: Tx): Promise<void> {}

    @OnTransfer('own', ['transfer.completed', 'transfer.failed'])
    async own(_event: TransferEvent<'transfer.completed' | 'transfer.failed'>): Promise<void> {}

    // @ts-expect-error it does not take the other type
    @OnTransfer('half', ['transfer.completed', 'transfer.failed'])
    async half(_event: TransferEvent<'transfer.completed'>): Promise<void> {}

    @OnTransfer('none', ['transfer.completed'])
    async none(): Promise<void> {}

    // @ts-expect-error one event, not many
    @OnTransfer('wrong', ['transfer.completed'])
    async wrong(_events: readonly TransferEvent[]): Promise<void> {}

    // @ts-expect-error its end would be unknown
    @OnTransfer('without-promise', ['transfer.completed'])
    withoutPromise(_event: TransferEvent): void {}

    // @ts-expect-error there is no such event
    @OnTransfer('unknown', ['transfer.finished'])
    async unknown(_event: TransferEvent): Promise<void> {}
  }
  expectTypeOf(Payouts).toBeConstructibleWith()
})

test('the class is a type of the engine', () => {
  expectTypeOf<OutlayEngine<Tx>>().toEqualTypeOf<Engine<Tx>>()
  expectTypeOf(OutlayEngine).toBeObject()
})

test('a factory has the types of what is injected', () => {
  void OutlayModule.forRootAsync({
    inject: ['url'],
    useFactory: (_url: string) => ({ backend: {} as never, gateway: {} as never, work: false }),
  })
  // @ts-expect-error there is no such option
  void OutlayModule.forRootAsync({ usefactory: () => ({}) })
})
