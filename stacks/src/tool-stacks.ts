import type { HostProject } from './project.ts'
import { compile, type Stack } from './stacks.ts'

/** Tries every entry on a Node that the packages do not support. npm has that Node. */
const onOldNode = (version: number): Stack => ({
  name: `Node ${version} gets one sentence`,
  command: `npx --yes node@${version} old-node.mjs`,
  reports: true,
})

const compileTools = (version: string, module: string, moduleResolution: string): Stack =>
  compile(version, module, moduleResolution, '', 'host.ts', ' of the tools')

/** The packages that a host uses beside its application: service, testing, harness and command line, from CommonJS. */
export const toolProject: HostProject = {
  name: 'the tools',
  dependencies: {
    '@nestjs/common': '11.2.10',
    '@nestjs/core': '11.2.10',
    'reflect-metadata': '0.2.2',
    rxjs: '7.8.2',
    '@types/node': '24.19.2',
    '@types/pg': '8.23.1',
    jest: '30.5.2',
    'typescript-5.4': 'npm:typescript@5.4.5',
    'typescript-5.9': 'npm:typescript@5.9.3',
    'typescript-6.0': 'npm:typescript@6.0.3',
    'typescript-7.0': 'npm:typescript@7.0.2',
  },
  options: {
    files: 'tools',
    packages: ['@outlay/service', '@outlay/testing', '@outlay/harness', '@outlay/cli', '@outlay/nestjs'],
  },
  stacks: [
    { name: 'require() of service, testing, harness and cli', command: 'node main.js' },
    { name: 'the harness in Jest, CommonJS', command: 'jest --ci' },
    compileTools('5.4', 'commonjs', 'node10'),
    compileTools('5.4', 'node16', 'node16'),
    compileTools('5.4', 'esnext', 'bundler'),
    compileTools('5.9', 'node16', 'node16'),
    compileTools('5.9', 'nodenext', 'nodenext'),
    compileTools('6.0', 'commonjs', 'bundler'),
    compileTools('6.0', 'node16', 'node16'),
    compileTools('7.0', 'node16', 'node16'),
    compileTools('7.0', 'nodenext', 'nodenext'),
    onOldNode(18),
    onOldNode(20),
  ],
}
