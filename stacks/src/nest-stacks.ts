import type { HostProject } from './project.ts'
import type { Stack } from './stacks.ts'

/** What a host of either release has. */
const shared = {
  pg: '8.23.1',
  'reflect-metadata': '0.2.2',
  rxjs: '7.8.2',
  typeorm: '1.1.1',
  '@types/node': '24.19.2',
  '@types/pg': '8.23.1',
  typescript: '5.9.3',
}

/** Compiles the host, checks that the declarations of ours have no errors, and pays an invoice. */
const compileAndPay = (name: string, kind: 'typed' | 'named', options = ''): Stack => ({
  name: `${name}, tsc ${options || 'with types of parameters'}`,
  command: `tsc ${options}; node dist/main.js ${kind} "$INVOICE"; ! tsc --noEmit --skipLibCheck false ${options} | grep @outlay`,
})

const withoutTypes = '--emitDecoratorMetadata false'

/** Hosts of NestJS, each in a folder of its own. */
export const nestReleases: readonly HostProject[] = [
  {
    name: 'NestJS 11',
    dependencies: {
      ...shared,
      '@nestjs/common': '11.2.10',
      '@nestjs/core': '11.2.10',
      '@nestjs/platform-express': '11.2.10',
      '@nestjs/testing': '11.2.6',
      '@nestjs/typeorm': '11.0.3',
      '@swc/core': '1.16.22',
      '@swc/jest': '0.2.39',
      '@types/jest': '30.0.0',
      jest: '30.5.2',
      'ts-jest': '29.4.15',
    },
    options: { files: 'nest', packages: ['@outlay/nestjs'] },
    stacks: [
      { name: 'NestJS 11, CommonJS, TypeORM, Jest with ts-jest', command: 'jest --ci' },
      { name: 'NestJS 11, CommonJS, TypeORM, Jest with SWC', command: 'jest --ci -c jest.swc.json' },
      compileAndPay('NestJS 11, CommonJS, TypeORM', 'typed'),
      compileAndPay('NestJS 11, CommonJS, TypeORM', 'named', withoutTypes),
    ],
  },
  {
    name: 'NestJS 12',
    dependencies: {
      ...shared,
      '@nestjs/common': '12.5.1',
      '@nestjs/core': '12.5.1',
      '@nestjs/platform-express': '12.5.1',
      '@nestjs/testing': '12.1.1',
      '@nestjs/typeorm': '12.0.2',
    },
    options: { files: 'nest', type: 'module', packages: ['@outlay/nestjs'] },
    stacks: [
      compileAndPay('NestJS 12, ES modules, TypeORM', 'typed'),
      compileAndPay('NestJS 12, ES modules, TypeORM', 'named', withoutTypes),
    ],
  },
]
