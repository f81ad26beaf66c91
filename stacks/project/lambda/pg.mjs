// A function that writes a row, with pg alone.
import pg from 'pg'

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL })

async function handle(id) {
  const tx = await pool.connect()
  await tx.query('begin')
  await tx.query('insert into lambda_invoice (id) values ($1)', [id])
  await tx.query('commit')
  const committedAt = performance.now()
  tx.release()
  return committedAt
}

handle(process.argv[2]).then((ms) => pool.end().then(() => console.log(ms)))
