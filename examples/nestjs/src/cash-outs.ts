import { ConflictException, Inject, Injectable, NotFoundException } from '@nestjs/common'
import { InjectRepository } from '@nestjs/typeorm'
import type { TransferEvent } from '@outlay/core'
import { OnTransfer, OutlayEngine } from '@outlay/nestjs'
import { type EntityManager, Repository } from 'typeorm'
import { CashOut, Courier } from './entities.ts'
import { SERVICE, type Service } from './service.ts'

/** The requested cash-out. */
interface Requested {
  readonly courierId: string
  readonly id: string
  /** In dollars; not checked yet. */
  readonly amount: string
}

/** Cash-outs of couriers: how they begin, and what happens at their end. */
@Injectable()
export class CashOuts {
  constructor(
    private readonly engine: OutlayEngine<EntityManager>,
    @InjectRepository(CashOut) private readonly cashOuts: Repository<CashOut>,
    @Inject(SERVICE) private readonly service: Service,
  ) {}

  /** Reads a cash-out. */
  async read(courierId: string, id: string): Promise<CashOut> {
    const found = await this.cashOuts.findOneBy({ courierId, id })
    if (found === null) throw new NotFoundException('There is no such cash-out.')
    return found
  }

  /** Pays out earnings: the cash-out, the new balance and the payout commit together. */
  async request({ courierId, id, amount }: Requested): Promise<CashOut> {
    return this.cashOuts.manager.transaction(async (tx) => {
      const courier = await tx.findOneBy(Courier, { id: courierId })
      if (courier === null) throw new NotFoundException('There is no such courier.')

      // First the payout: it refuses an invalid request before any SQL, and it detects a repeated request.
      const transfer = await this.engine.transfers.enqueue(tx, {
        accountId: this.service.accountId,
        idempotencyKey: `cash-out/${courierId}/${id}`,
        amount: { value: amount, currency: 'USD' },
        source: { addressId: this.service.walletId, valueType: 'USDC', transferType: 'base' },
        destination: { addressId: courier.bankId, valueType: 'USD', transferType: 'ach_credit' },
        note: `cash-out ${id}`,
      })
      if (!transfer.reused) {
        // Then the host's rows. An error from here on rolls the payout back.
        await tx.insert(CashOut, { courierId, id, amount, transferId: transfer.id })
        await this.changeBalance(tx, courierId, `-${amount}`)
      }
      return tx.findOneByOrFail(CashOut, { transferId: transfer.id })
    })
  }

  /** The handler commits with the acknowledgement of the event. */
  @OnTransfer('pay-cash-outs', ['transfer.completed'])
  async onPaid({ transferId }: TransferEvent, tx: EntityManager): Promise<void> {
    await tx.update(CashOut, { transferId }, { status: 'paid' })
  }

  /** The earnings of a failed payout can be asked for again. */
  @OnTransfer('unpay-cash-outs', ['transfer.failed', 'transfer.canceled'])
  async onUnpaid({ transferId, transfer }: TransferEvent, tx: EntityManager): Promise<void> {
    if (transfer.failure?.retriable) return
    await tx.update(CashOut, { transferId }, { status: 'unpaid' })
    const { courierId, amount } = await tx.findOneByOrFail(CashOut, { transferId })
    await this.changeBalance(tx, courierId, amount)
  }

  private async changeBalance(tx: EntityManager, courierId: string, by: string): Promise<void> {
    const { affected } = await tx
      .createQueryBuilder()
      .update(Courier)
      .set({ balance: () => 'balance + :by' })
      .where('id = :courierId and balance + :by >= 0')
      .setParameters({ courierId, by })
      .execute()
    if (affected === 0) throw new ConflictException('That is more than was earned.')
  }
}
