import { Check, Column, Entity, PrimaryColumn } from 'typeorm'

/** A courier, with what the deliveries have earned, in dollars. */
@Entity()
@Check('balance >= 0')
export class Courier {
  @PrimaryColumn('text')
  readonly id!: string

  /** Id of the courier's bank account at the service. */
  @Column('text')
  readonly bankId!: string

  @Column('numeric', { precision: 12, scale: 2 })
  readonly balance!: string
}

/** Earnings that a courier has asked for. The caller chooses the id. */
@Entity()
export class CashOut {
  @PrimaryColumn('text')
  readonly courierId!: string

  @PrimaryColumn('text')
  readonly id!: string

  @Column('numeric', { precision: 12, scale: 2 })
  readonly amount!: string

  @Column('text', { default: 'on_its_way' })
  readonly status!: 'on_its_way' | 'paid' | 'unpaid'

  @Column('text', { unique: true })
  readonly transferId!: string
}
