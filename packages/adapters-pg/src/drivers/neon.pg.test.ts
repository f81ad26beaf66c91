import { describeDriver } from '@outlay/testing/conformance'
import { describe } from 'vitest'
import { neons, openNeon } from '../../test/neon-subject.ts'

describe.each(Object.entries(neons))('%s', (name, library) => {
  describeDriver(name, (url) => openNeon(url, library))
})
