import { setImmediate as turn } from 'node:timers/promises'
import { openOutlayMany } from './contenders/enqueue-many.ts'
import { sampleTransfer } from './sample-transfer.ts'
import { openServer } from './server.ts'

// The effect of one call of enqueueMany on a process that has the requests in memory: time, memory, and the longest block
// of the event loop. Run with --expose-gc; the argument is the number of transfers.
const count = Number(process.argv[2] ?? 100_000)
const megabytes = (bytes: number) => Math.round(bytes / 2 ** 20)
const collect = globalThis.gc ?? (() => undefined)

const server = await openServer(process.env['OUTLAY_BENCH_DATABASE_URL'])
const host = await openOutlayMany(server.url)
const client = await host.database.pool.connect()
await client.query('begin')
await host.enqueue(client, [sampleTransfer(-1), sampleTransfer(-2)])
const requests = Array.from({ length: count }, (_, index) => sampleTransfer(index))
collect()
await turn()

const before = process.memoryUsage()
let [peakHeap, peakRss, longestMs, last] = [0, 0, 0, performance.now()]
const sample = () => {
  const { heapUsed, rss } = process.memoryUsage()
  peakHeap = Math.max(peakHeap, heapUsed)
  peakRss = Math.max(peakRss, rss)
  longestMs = Math.max(longestMs, performance.now() - last)
  last = performance.now()
}
const timer = setInterval(sample, 5)
const started = performance.now()
const transfers = (await host.enqueue(client, requests)) as readonly unknown[]
const seconds = (performance.now() - started) / 1000
await turn()
sample()
clearInterval(timer)
peakRss = Math.max(peakRss, process.resourceUsage().maxRSS * 1024)
collect()
const { heapUsed: keptHeap } = process.memoryUsage()
await client.query('commit')
client.release()

process.stdout.write(
  `${transfers.length} transfers in ${seconds.toFixed(1)} s
RSS ${megabytes(before.rss)} MB before, ${megabytes(peakRss)} MB at its peak
heap ${megabytes(before.heapUsed)} MB before (the requests), ${megabytes(peakHeap)} MB at its peak, ${megabytes(keptHeap)} MB after (with the answer)
longest time without a turn for others: ${longestMs.toFixed(0)} ms
`,
)
await host.close()
await server.close()
