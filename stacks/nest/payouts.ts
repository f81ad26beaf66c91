import { Inject, Injectable, type Type } from '@nestjs/common'
import type { Engine, TransferEvent } from '@outlay/core'
import { InjectOutlay, OnTransfer, OutlayEngine } from '@outlay/nestjs'
import { Column, DataSource, Entity, EntityManager, PrimaryColumn } from 'typeorm'

@Entity()
export class Invoice {
  @PrimaryColumn('text')
  id!: string

  @Column('text')
  transferId!: string

  @Column('text', { default: 'on_its_way' })
  status!: string
}

/** Pays invoices, and learns of their end. */
export interface Payouts {
  /** Rolls back when `isRefused`. */
  pay(id: string, isRefused?: boolean): Promise<string>
}

async function enqueue(engine: Engine<EntityManager>, dataSource: DataSource, id: string, isRefused = false) {
  const { ACCOUNT_ID = '', WALLET_ID = '', PAYEE_ID = '' } = process.env
  return dataSource.transaction(async (tx) => {
    const { id: transferId } = await engine.transfers.enqueue(tx, {
      accountId: ACCOUNT_ID,
      idempotencyKey: id,
      amount: { value: '12.50', currency: 'USD' },
      source: { addressId: WALLET_ID, valueType: 'USDC', transferType: 'base' },
      destination: { addressId: PAYEE_ID, valueType: 'USDC', transferType: 'base' },
    })
    await tx.getRepository(Invoice).insert({ id, transferId })
    if (isRefused) throw new Error('refused')
    return transferId
  })
}

/** Injected by types, which the compiler has to emit. */
@Injectable()
export class TypedPayouts implements Payouts {
  constructor(
    private readonly engine: OutlayEngine<EntityManager>,
    private readonly dataSource: DataSource,
  ) {}

  pay(id: string, isRefused?: boolean): Promise<string> {
    return enqueue(this.engine, this.dataSource, id, isRefused)
  }

  @OnTransfer('invoices', ['transfer.completed'])
  async onPaid({ transferId }: TransferEvent, tx: EntityManager): Promise<void> {
    await tx.update(Invoice, { transferId }, { status: 'paid' })
  }
}

/** Injected by tokens alone. */
@Injectable()
export class NamedPayouts implements Payouts {
  constructor(
    @InjectOutlay() private readonly engine: Engine<EntityManager>,
    @Inject(DataSource) private readonly dataSource: DataSource,
  ) {}

  pay(id: string, isRefused?: boolean): Promise<string> {
    return enqueue(this.engine, this.dataSource, id, isRefused)
  }

  @OnTransfer('invoices', ['transfer.completed'])
  async onPaid({ transferId }: TransferEvent, tx: EntityManager): Promise<void> {
    await tx.update(Invoice, { transferId }, { status: 'paid' })
  }
}

/** The token of either. */
export const PAYOUTS = 'payouts'

/** Provides one of them. */
export const providePayouts = (useClass: Type<Payouts>) => ({ provide: PAYOUTS, useClass })
