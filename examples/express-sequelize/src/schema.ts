import pg from 'pg'
import {
  type CreationOptional,
  DataTypes,
  type InferAttributes,
  type InferCreationAttributes,
  type Model,
  type ModelStatic,
  Sequelize,
} from 'sequelize'

/** A credit line that loans are paid from. */
export interface CreditLine extends Model<InferAttributes<CreditLine>, InferCreationAttributes<CreditLine>> {
  readonly id: string
  /** Dollars that can still be lent. */
  readonly available: string
}

/** An approved loan. */
export interface Loan extends Model<InferAttributes<Loan>, InferCreationAttributes<Loan>> {
  readonly id: string
  readonly creditLineId: string
  /** Id of the borrower's bank account at the service. */
  readonly bankId: string
  readonly principal: string
  readonly status: CreationOptional<'approved' | 'disbursing' | 'disbursed' | 'failed'>
}

/** One payment of a loan. A loan has one, and one more for each correction. */
export interface Disbursement extends Model<InferAttributes<Disbursement>, InferCreationAttributes<Disbursement>> {
  readonly transferId: string
  readonly loanId: string
  readonly bankId: string
  readonly status: CreationOptional<'on_its_way' | 'paid' | 'failed'>
  /** Why it failed, in words of the bank. */
  readonly reason: CreationOptional<string | null>
}

/** The lender's database: Sequelize for its own work, and a pool of node-postgres for the engine's workers. */
export interface Database extends AsyncDisposable {
  readonly sequelize: Sequelize
  readonly pool: pg.Pool
  readonly creditLines: ModelStatic<CreditLine>
  readonly loans: ModelStatic<Loan>
  readonly disbursements: ModelStatic<Disbursement>
}

const dollars = DataTypes.DECIMAL(12, 2)
// A new object for each column, since Sequelize writes its name into it.
const text = () => ({ type: DataTypes.TEXT, allowNull: false })
const options = { underscored: true, timestamps: false } as const

/** Opens both. */
export function openDatabase(url: string): Database {
  const sequelize = new Sequelize(url, { logging: false, pool: { max: 20 } })
  const pool = new pg.Pool({ connectionString: url, max: 20 })
  // The pool replaces a broken idle connection. Without a listener, its error would end the process.
  pool.on('error', () => {})
  return {
    sequelize,
    pool,
    creditLines: sequelize.define<CreditLine>(
      'credit_line',
      { id: { ...text(), primaryKey: true }, available: { type: dollars, allowNull: false } },
      options,
    ),
    loans: sequelize.define<Loan>(
      'loan',
      {
        id: { ...text(), primaryKey: true },
        creditLineId: text(),
        bankId: text(),
        principal: { type: dollars, allowNull: false },
        status: { ...text(), defaultValue: 'approved' },
      },
      options,
    ),
    disbursements: sequelize.define<Disbursement>(
      'disbursement',
      {
        transferId: { ...text(), primaryKey: true },
        loanId: text(),
        bankId: text(),
        status: { ...text(), defaultValue: 'on_its_way' },
        reason: DataTypes.TEXT,
      },
      options,
    ),
    async [Symbol.asyncDispose]() {
      await sequelize.close()
      await pool.end()
    },
  }
}

/** Makes the lender's own tables. */
export async function migrateDatabase({ sequelize }: Database): Promise<void> {
  await sequelize.sync()
}
