import { connect } from 'node:net'
import { Duplex } from 'node:stream'

/** A socket of a host's own kind: it does not close when the server ends it, and can keep back what it receives. */
export interface OwnSocket extends Duplex {
  /** Keeps back what comes from now on. */
  hold(): void
  /** What is kept back; `hasEnded` when the server has ended the connection behind it. */
  readonly held: { readonly bytes: Buffer; readonly hasEnded: boolean }
  /** Passes it on, in one piece; or all but so many bytes of it, and keeps back the rest. */
  release(keep?: number): void
}

/** Connects to the server of a connection string. */
export function openOwnSocket(to: string): OwnSocket {
  const { hostname, port } = new URL(to)
  const held = { bytes: Buffer.alloc(0), hasEnded: false }
  let holds = false
  const inner = connect({ host: hostname, port: Number(port), allowHalfOpen: true })
  const socket = new Duplex({
    autoDestroy: false,
    read: () => undefined,
    write: (chunk, _, done) => void inner.write(chunk, () => done()),
    destroy(error, done) {
      inner.destroy()
      done(error)
    },
  })
  const pass = () => {
    if (holds) return
    if (held.bytes.length > 0) socket.push(held.bytes)
    held.bytes = Buffer.alloc(0)
    if (held.hasEnded) socket.push(null)
  }
  const end = () => {
    if (held.hasEnded) return
    held.hasEnded = true
    pass()
  }
  inner
    .on('data', (chunk) => {
      held.bytes = Buffer.concat([held.bytes, chunk])
      pass()
    })
    .on('end', end)
    // A reset may come first.
    .on('close', end)
    .on('error', () => undefined)
  return Object.assign(socket, {
    held,
    hold() {
      holds = true
    },
    release(keep = 0) {
      const rest = held.bytes.subarray(held.bytes.length - keep)
      held.bytes = held.bytes.subarray(0, held.bytes.length - keep)
      holds = false
      pass()
      holds = keep > 0
      held.bytes = rest
    },
  })
}
