import { expect, it } from 'vitest'
import type { Gateway } from '../ports/gateway.ts'
import { createEngine } from './create-engine.ts'

const gateway: Gateway = {
  submit: () => Promise.reject(new Error('not here')),
  get: () => Promise.reject(new Error('not here')),
}

it.each([undefined, null, {}, { connect: () => undefined }])(
  'refuses %o as a backend, and says what is one',
  (backend) => {
    const create = () => createEngine({ backend: backend as never, gateway })
    expect(create).toThrow('backend: must be a backend, such as postgres({ driver }) of @outlay/adapters-pg')
  },
)
